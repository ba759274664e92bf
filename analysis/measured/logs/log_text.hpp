#pragma once

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

// Functions that find words and numbers in a line of a log.
namespace pipewright::analysis {

// Returns the text behind the first occurrence of `word`; empty with a null pointer if there is
// none.
inline std::string_view after(std::string_view text, std::string_view word) {
  const std::size_t start = text.find(word);
  return start == std::string_view::npos ? std::string_view() : text.substr(start + word.size());
}

inline bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

// Reads the number at the beginning of `text` and removes it from `text`.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  text = trimmed(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Returns the finite, non-negative number right behind a word, if there is one.
inline std::optional<double> number_after(std::string_view text, std::string_view word) {
  std::string_view rest = after(text, word);
  if (rest.data() == nullptr) return std::nullopt;
  const auto value = take_number<double>(rest);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

// Returns the finite, non-negative number right behind a word, whose digits may be grouped by
// commas ("6,547"), if there is one.
inline std::optional<double> grouped_number_after(std::string_view text, std::string_view word) {
  std::string digits(trimmed(after(text, word)).substr(0, 24));
  std::erase(digits, ',');
  return number_after("=" + digits, "=");
}

// Removes the escape sequences that colour the text of a terminal.
inline std::string without_colors(std::string_view text) {
  std::string plain;
  for (std::size_t position = 0; position < text.size(); ++position) {
    if (text[position] != '\x1b' || position + 1 >= text.size() || text[position + 1] != '[') {
      plain += text[position];
      continue;
    }
    position = text.find_first_of("mKJHABCD", position);
    if (position == std::string_view::npos) break;
  }
  return plain;
}

}  // namespace pipewright::analysis
