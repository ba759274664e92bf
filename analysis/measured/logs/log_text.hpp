#pragma once

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

// Words and numbers of a log's line.
namespace pipewright::analysis {

// What stands behind a word; without data where the word is not there.
inline std::string_view after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
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

// The number that `text` begins with, which moves on behind it.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  text = trimmed(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// A finite number that is not negative, right behind a word; empty if there is none.
inline std::optional<double> number_after(std::string_view text, std::string_view word) {
  std::string_view rest = after(text, word);
  if (rest.data() == nullptr) return std::nullopt;
  const auto value = take_number<double>(rest);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

// Of "6,547" too.
inline std::optional<double> grouped_number_after(std::string_view text, std::string_view word) {
  std::string digits(trimmed(after(text, word)).substr(0, 24));
  std::erase(digits, ',');
  return number_after("=" + digits, "=");
}

// Without what colours a terminal's text.
inline std::string without_colors(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') {
      plain += text[at];
      continue;
    }
    at = text.find_first_of("mKJHABCD", at);
    if (at == std::string_view::npos) break;
  }
  return plain;
}

}  // namespace pipewright::analysis
