#include "sim/jobs/request/python_list.hpp"

#include <charconv>

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_list_length = 10'000;
constexpr int max_list_depth = 32;

using PythonList = std::optional<std::vector<std::int64_t>>;

class PythonListParser {
 public:
  explicit PythonListParser(std::string_view text) : text_(text) {}

  PythonList parse() {
    PythonList list = sum(0);
    skip();
    return at_ == text_.size() ? list : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> number() {
    skip();
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc{}) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  PythonList sum(int depth) {
    PythonList list = product(depth);
    while (list && take('+')) {
      const PythonList more = product(depth);
      if (!more || list->size() + more->size() > max_list_length) return std::nullopt;
      list->insert(list->end(), more->begin(), more->end());
    }
    return list;
  }

  PythonList product(int depth) {
    PythonList list = part(depth);
    while (list && take('*')) {
      const auto times = number();
      if (!times || *times < 0 ||
          (!list->empty() && static_cast<std::uint64_t>(*times) > max_list_length / list->size()))
        return std::nullopt;
      std::vector<std::int64_t> repeated;
      for (std::int64_t i = 0; i < *times && !list->empty(); ++i)
        repeated.insert(repeated.end(), list->begin(), list->end());
      list = std::move(repeated);
    }
    return list;
  }

  PythonList part(int depth) {
    if (depth > max_list_depth) return std::nullopt;
    if (take('(')) {
      PythonList list = sum(depth + 1);
      return take(')') ? list : std::nullopt;
    }
    if (!take('[')) return std::nullopt;
    std::vector<std::int64_t> values;
    if (take(']')) return values;
    do {
      const auto value = number();
      if (!value || values.size() >= max_list_length) return std::nullopt;
      values.push_back(*value);
    } while (take(','));
    return take(']') ? PythonList(values) : std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::vector<std::int64_t>> python_list(std::string_view text) {
  return PythonListParser(text).parse();
}

}  // namespace pipewright::jobs
