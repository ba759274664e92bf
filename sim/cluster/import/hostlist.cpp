#include "sim/cluster/import/hostlist.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "sim/cluster/import/source_text.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::size_t most_names = 1U << 20U;

[[noreturn]] void fail(std::string_view text, std::string_view what) {
  throw Error(fmt::format("{} is no list of hosts: {}; as in node[001-128],login1",
                          config::in_quotes(text), what));
}

void check_count(std::string_view text, std::size_t names) {
  if (names > most_names)
    fail(text, fmt::format("it names more than {} hosts, the most that are read", most_names));
}

// "001-003,7" as texts.
std::vector<std::string> numbers_of(std::string_view text, std::string_view inside) {
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
        fail(text, fmt::format("'{}' in brackets is no number or range", part));
      std::uint32_t from = 0;
      std::uint32_t to = 0;
      std::from_chars(first.data(), first.data() + first.size(), from);
      std::from_chars(last.data(), last.data() + last.size(), to);
      if (to < from) fail(text, fmt::format("'{}' runs backwards", part));
      check_count(text, numbers.size() + to - from + 1);
      for (std::uint32_t i = from; i <= to; ++i)
        numbers.push_back(fmt::format("{:0{}}", i, first.size()));
    }
    if (part.size() == inside.size()) return numbers;
    inside.remove_prefix(part.size() + 1);
  }
}

// One word without a comma outside of brackets.
void expand_word(std::string_view text, std::string_view word, std::vector<std::string>& names) {
  std::vector<std::string> heads{""};
  while (!word.empty()) {
    const std::size_t open = word.find('[');
    const std::string_view plain = word.substr(0, open);
    if (plain.find(']') != std::string_view::npos) fail(text, "']' closes no '['");
    for (std::string& head : heads) head += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = word.find(']', open);
    if (close == std::string_view::npos) fail(text, "'[' is not closed");
    const auto numbers = numbers_of(text, word.substr(open + 1, close - open - 1));
    check_count(text, names.size() + heads.size() * numbers.size());
    std::vector<std::string> longer;
    longer.reserve(heads.size() * numbers.size());
    for (const std::string& head : heads)
      for (const std::string& number : numbers) longer.push_back(head + number);
    heads = std::move(longer);
    word.remove_prefix(close + 1);
  }
  names.insert(names.end(), heads.begin(), heads.end());
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view text) {
  std::vector<std::string> names;
  const std::string_view all = trimmed(text);
  if (all.empty()) fail(text, "it is empty");
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    const char c = i < all.size() ? all[i] : ',';
    if (c == '[' && ++depth > 1) fail(text, "'[' stands in brackets");
    if (c == ']') depth = std::max(0, depth - 1);
    if (c != ',' || (depth > 0 && i < all.size())) continue;
    const std::string_view word = trimmed(all.substr(begin, i - begin));
    if (word.empty()) fail(text, "a name is missing beside a comma");
    if (word.find_first_of(" \t") != std::string_view::npos) fail(text, "a blank stands in a name");
    expand_word(text, word, names);
    begin = i + 1;
  }
  return names;
}

}  // namespace pipewright::cluster
