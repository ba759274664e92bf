#include "sim/cluster/import/hostlist.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sim/cluster/import/source_text.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::size_t max_names = 1U << 20U;

[[noreturn]] void fail_hostlist(std::string_view text, std::string_view reason) {
  throw Error(fmt::format("{} is not a hostlist: {}", config::in_quotes(text), reason))
      .suggest("expected a hostlist such as node[001-128],login1");
}

void check_count(std::string_view text, std::size_t names) {
  if (names > max_names)
    fail_hostlist(text, fmt::format("it names more than {} hosts, which is the limit", max_names));
}

// Expands the text inside brackets: "001-003,7" gives "001", "002", "003", "7".
std::vector<std::string> expand_brackets(std::string_view text, std::string_view inside) {
  std::vector<std::string> numbers;
  while (true) {
    const std::string_view part = inside.substr(0, inside.find(','));
    const std::size_t hyphen = part.find('-');
    const std::string_view first = part.substr(0, hyphen);
    const std::string_view last =
        hyphen == std::string_view::npos ? first : part.substr(hyphen + 1);
    const auto is_number = [](std::string_view digits) {
      return !digits.empty() && digits.size() <= 9 &&
             digits.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (hyphen == std::string_view::npos && !first.empty() && !is_number(first)) {
      numbers.emplace_back(first);
    } else {
      if (!is_number(first) || !is_number(last))
        fail_hostlist(text, fmt::format("'{}' in brackets is neither a number nor a range", part));
      std::uint32_t from = 0;
      std::uint32_t to = 0;
      std::from_chars(first.data(), first.data() + first.size(), from);
      std::from_chars(last.data(), last.data() + last.size(), to);
      if (to < from) fail_hostlist(text, fmt::format("'{}' runs backwards", part));
      check_count(text, numbers.size() + to - from + 1);
      for (std::uint32_t i = from; i <= to; ++i)
        numbers.push_back(fmt::format("{:0{}}", i, first.size()));
    }
    if (part.size() == inside.size()) return numbers;
    inside.remove_prefix(part.size() + 1);
  }
}

// Expands one element of a hostlist, such as "node[001-003]".
void expand_word(std::string_view text, std::string_view word, std::vector<std::string>& names) {
  std::vector<std::string> heads{""};
  while (!word.empty()) {
    const std::size_t open = word.find('[');
    const std::string_view plain = word.substr(0, open);
    if (plain.find(']') != std::string_view::npos) fail_hostlist(text, "']' has no matching '['");
    for (std::string& head : heads) head += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = word.find(']', open);
    if (close == std::string_view::npos) fail_hostlist(text, "'[' is not closed");
    const auto numbers = expand_brackets(text, word.substr(open + 1, close - open - 1));
    check_count(text, names.size() + heads.size() * numbers.size());
    std::vector<std::string> extended;
    extended.reserve(heads.size() * numbers.size());
    for (const std::string& head : heads)
      for (const std::string& number : numbers) extended.push_back(head + number);
    heads = std::move(extended);
    word.remove_prefix(close + 1);
  }
  names.insert(names.end(), heads.begin(), heads.end());
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view text) {
  std::vector<std::string> names;
  const std::string_view list = trimmed(text);
  if (list.empty()) fail_hostlist(text, "it is empty");
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[' && ++depth > 1) fail_hostlist(text, "brackets are nested");
    if (c == ']') depth = std::max(0, depth - 1);
    if (c != ',' || (depth > 0 && i < list.size())) continue;
    const std::string_view word = trimmed(list.substr(begin, i - begin));
    if (word.empty()) fail_hostlist(text, "a name is missing beside a comma");
    if (word.find_first_of(" \t") != std::string_view::npos)
      fail_hostlist(text, "a name contains a blank");
    expand_word(text, word, names);
    begin = i + 1;
  }
  return names;
}

}  // namespace pipewright::cluster
