#include "analysis/measured/logs/log_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>

namespace pipewright::analysis {
namespace {

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '-';
}

std::optional<double> usable(std::optional<double> value) {
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

// Returns the digits at the beginning of `text`, without the commas between groups of three.
std::string ungrouped(std::string_view text) {
  constexpr std::size_t longest = 40;  // Of a number that a log writes.
  std::string digits;
  for (std::size_t i = 0; i < std::min(text.size(), longest); ++i) {
    const bool separates = text[i] == ',' && i > 0 && is_decimal(text[i - 1]) &&
                           text.size() > i + 3 && is_decimal(text[i + 1]) &&
                           is_decimal(text[i + 2]) && is_decimal(text[i + 3]) &&
                           (text.size() == i + 4 || !is_decimal(text[i + 4]));
    if (!separates) digits += text[i];
  }
  return digits;
}

// Returns the factor of a letter such as the K in "11.5K"; 1 if a longer word follows, as in "5GB".
double factor_of(std::string_view suffix) {
  constexpr std::string_view powers = "KMBTPE";
  if (suffix.empty()) return 1;
  const char letter = suffix.front() == 'G' ? 'B' : suffix.front();
  const std::size_t power = powers.find(letter);
  if (power == std::string_view::npos || (suffix.size() > 1 && is_in_name(suffix[1]))) return 1;
  return std::pow(1000.0, static_cast<double>(power + 1));
}

// Reads ": 5", "= '5'" or the like behind a key.
std::optional<double> value_behind_key(std::string_view rest) {
  const auto drop = [&](std::string_view characters) {
    const bool has_any = !rest.empty() && contains(characters, rest.substr(0, 1));
    if (has_any) rest.remove_prefix(1);
    return has_any;
  };
  drop("'\"");
  rest = trimmed(rest);
  if (!drop(":=")) return std::nullopt;
  rest = trimmed(rest);
  drop("'\"");
  const std::string digits = ungrouped(rest);
  std::string_view number = digits;
  const auto value = take_number<double>(number);
  return value ? usable(*value * factor_of(number)) : std::nullopt;
}

// Returns the length of the escape sequence of a terminal at the beginning of `text`; 0 if there is
// none. Such a sequence is an escape character or its name, a bracket, numbers, and a letter.
std::size_t escape_length(std::string_view text) {
  constexpr std::array<std::string_view, 6> escapes{"\x1b",    "^[",    "\\x1b",
                                                    "\\u001b", "\\033", "#033"};
  constexpr std::string_view first_characters = "\x1b^\\#[";
  if (text.empty() || !contains(first_characters, text.substr(0, 1))) return 0;
  std::size_t position = 0;
  for (const std::string_view escape : escapes)
    if (text.starts_with(escape)) position = escape.size();
  const bool has_escape = position > 0;
  if (position >= text.size() || text[position] != '[') return 0;
  const std::size_t numbers = ++position;
  while (position < text.size() && (is_decimal(text[position]) || text[position] == ';' ||
                                    (has_escape && text[position] == '?')))
    ++position;
  if (position >= text.size()) return has_escape ? position : 0;
  // A sequence without its escape character counts only if it is a colour: "[32m", but not
  // "[rank0]".
  const bool ends = has_escape ? text[position] >= '@' && text[position] <= '~'
                               : text[position] == 'm' && position > numbers;
  return ends ? position + 1 : 0;
}

// Reads a number of `digits` digits and the character that follows it, if `end` is not 0.
bool take_digits(std::string_view& text, std::size_t digits, int& value, char end) {
  if (text.size() < digits + (end == 0 ? 0 : 1)) return false;
  if (!std::ranges::all_of(text.substr(0, digits), is_decimal)) return false;
  std::from_chars(text.data(), text.data() + digits, value);
  if (end != 0 && text[digits] != end) return false;
  text.remove_prefix(digits + (end == 0 ? 0 : 1));
  return true;
}

std::optional<std::chrono::year_month_day> take_date(std::string_view& text) {
  int year = 0;
  int month = 0;
  int day = 0;
  const bool is_iso = text.size() > 4 && text[4] == '-';
  if (is_iso) {
    if (!take_digits(text, 4, year, '-') || !take_digits(text, 2, month, '-') ||
        !take_digits(text, 2, day, 0))
      return std::nullopt;
  } else if (!take_digits(text, 2, month, '/') || !take_digits(text, 2, day, '/') ||
             !take_digits(text, 4, year, 0)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() ? std::optional(date) : std::nullopt;
}

std::optional<TimeStamp> stamp_at(std::string_view text) {
  const auto date = take_date(text);
  if (!date || text.empty() || (text.front() != ' ' && text.front() != 'T')) return std::nullopt;
  text.remove_prefix(1);
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!take_digits(text, 2, hour, ':') || !take_digits(text, 2, minute, ':') ||
      !take_digits(text, 2, second, 0))
    return std::nullopt;
  const auto days = std::chrono::sys_days(*date).time_since_epoch().count();
  TimeStamp stamp{static_cast<double>(days) * 86400 + hour * 3600 + minute * 60 + second, false};
  if (text.size() < 2 || (text.front() != ',' && text.front() != '.') || !is_decimal(text[1]))
    return stamp;
  text.remove_prefix(1);
  for (double unit = 0.1; !text.empty() && is_decimal(text.front()); unit /= 10) {
    stamp.seconds += unit * (text.front() - '0');
    text.remove_prefix(1);
  }
  stamp.has_fraction = true;
  return stamp;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

std::optional<double> number_after(std::string_view text, std::string_view word) {
  std::string_view rest = after(text, word);
  if (rest.data() == nullptr) return std::nullopt;
  return usable(take_number<double>(rest));
}

std::optional<double> value_of(std::string_view line, std::string_view key) {
  for (std::size_t start = line.find(key); start != std::string_view::npos;
       start = line.find(key, start + 1)) {
    if (start > 0 && is_in_name(line[start - 1])) continue;
    if (const auto value = value_behind_key(line.substr(start + key.size()))) return value;
  }
  return std::nullopt;
}

std::optional<double> value_of_any(std::string_view line,
                                   std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto value = value_of(line, key)) return value;
  return std::nullopt;
}

std::string without_colors(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t escape = escape_length(text);
    if (escape == 0) plain += text.front();
    text.remove_prefix(std::max<std::size_t>(escape, 1));
  }
  return plain;
}

std::optional<TimeStamp> time_stamp(std::string_view line) {
  constexpr std::size_t longest_prefix = 80;  // Of a launcher, before the date.
  constexpr std::size_t shortest_stamp = 19;
  for (std::size_t i = 0; i < longest_prefix && i + shortest_stamp <= line.size(); ++i)
    if (is_decimal(line[i]) && (i == 0 || !is_decimal(line[i - 1])))
      if (const auto stamp = stamp_at(line.substr(i))) return stamp;
  return std::nullopt;
}

std::size_t columns_of(std::string_view line) {
  constexpr unsigned continuation = 0x80;
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != continuation; }));
}

}  // namespace pipewright::analysis
