#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

// Functions that find words, numbers and times in a line of a log.
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

std::string_view trimmed(std::string_view text);

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
std::optional<double> number_after(std::string_view text, std::string_view word);

// Returns the finite, non-negative value of a key, in any of the forms in which logs write pairs:
// "key: 5.5", "key=5.5", "'key': '5.5'", "key : 5.5". Digits may be grouped by commas ("6,547") and
// followed by a letter that stands for a power of 1000 ("11.5K"). Words that only end with the key
// are other keys.
std::optional<double> value_of(std::string_view line, std::string_view key);

// Returns the value of the first of the keys that has one.
std::optional<double> value_of_any(std::string_view line,
                                   std::initializer_list<std::string_view> keys);

// Removes the escape sequences that colour the text of a terminal, also those whose escape
// character was lost or replaced by its name ("^[[32m", "[32m").
std::string without_colors(std::string_view text);

// Time at which a program wrote a line, in seconds since an arbitrary point.
struct TimeStamp {
  double seconds = 0;
  bool has_fraction = false;  // Whether the line gives more than whole seconds.
};

// Returns the date and time near the beginning of a line: "2024-05-01 10:00:00,100",
// "2024-05-01T10:00:00.1" or "05/01/2024 10:00:00", behind any prefix of a launcher.
std::optional<TimeStamp> time_stamp(std::string_view line);

// Returns the number of columns that a line takes on a terminal: its code points in UTF-8.
std::size_t columns_of(std::string_view line);

}  // namespace pipewright::analysis
