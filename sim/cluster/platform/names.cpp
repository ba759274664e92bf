#include "sim/cluster/platform/names.hpp"

#include <string.h>

#include "sim/base/numbers.hpp"

namespace pipewright::cluster {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = text.find(separator, begin)) != std::string_view::npos;
       begin = at + 1)
    parts.push_back(text.substr(begin, at - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<int> parse_index(std::string_view text) {
  const std::optional<int> value = base::parse_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

constexpr int max_range_size = 1'000'000;  // limit for a single range

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '-' || c == '_' || c == '.'; }

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

std::optional<std::vector<int>> parse_radical(std::string_view text) {
  std::vector<int> numbers;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_index(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_index(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= max_range_size) return {};
    for (int i = *first; i <= *last; ++i) numbers.push_back(i);
  }
  return numbers;
}

std::optional<std::vector<std::string>> expand_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t open = word.find('[');
    if (open == std::string_view::npos) {
      names.emplace_back(word);
      continue;
    }
    const std::size_t close = word.find(']', open);
    if (close == std::string_view::npos) return {};
    const auto numbers = parse_radical(word.substr(open + 1, close - open - 1));
    if (!numbers) return {};
    for (const int number : *numbers)
      names.push_back(std::string(word.substr(0, open)) + std::to_string(number) +
                      std::string(word.substr(close + 1)));
  }
  return names;
}

std::string without_direction(std::string_view link) {
  for (const std::string_view end : {"_UP", "_DOWN"})
    if (link.ends_with(end)) link.remove_suffix(end.size());
  return std::string(link);
}

std::string without_numbers(std::string_view name) {
  std::string text;
  for (const char c : without_direction(name)) {
    if (is_digit(c) || (is_separator(c) && (text.empty() || is_separator(text.back())))) continue;
    text += c;
  }
  while (!text.empty() && is_separator(text.back())) text.pop_back();
  return text.empty() ? std::string(name) : text;
}

}  // namespace pipewright::cluster
