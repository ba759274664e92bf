#include "analysis/comm/logs/log_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace pipewright::analysis {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_separator(char c) { return c == '_' || c == ','; }

bool says_none(std::string_view word) {
  static constexpr std::array<std::string_view, 9> words{"N/A", "n/a", "NA",  "-",   "--",
                                                         "nan", "NaN", "NAN", "-nan"};
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

void split_words(std::string_view line, Words& words) {
  words.clear();
  const auto is_blank = [](char c) { return c == ' ' || c == '|' || (c >= '\t' && c <= '\r'); };
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && is_blank(line[at])) ++at;
    const std::size_t start = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    if (at > start) words.push_back(line.substr(start, at - start));
  }
}

std::optional<PrintedNumber> parse_printed(std::string_view word) {
  if (word.empty()) return std::nullopt;
  if (!is_digit(word.front()) && says_none(word))
    return PrintedNumber{std::numeric_limits<double>::quiet_NaN(), 0};
  PrintedNumber number;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number.value);
  if (error == std::errc::invalid_argument || stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    number.value = std::numeric_limits<double>::infinity();
  if (!std::isfinite(number.value)) return number;
  const std::string_view mantissa = word.substr(0, word.find_first_of("eE"));
  const std::size_t point = mantissa.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : mantissa.size() - point - 1;
  if (mantissa.size() == word.size() && decimals < 4) {
    static constexpr std::array<double, 4> halves{0.5, 0.05, 0.005, 0.0005};
    number.half = halves.at(decimals);
    return number;
  }
  int exponent = 0;
  if (mantissa.size() < word.size()) {
    const std::string_view digits = word.substr(mantissa.size() + 1);
    std::from_chars(digits.data() + (digits.starts_with('+') ? 1 : 0), end, exponent);
  }
  number.half = 0.5 * std::pow(10, exponent - static_cast<double>(decimals));
  return number;
}

bool is_whole_number(std::string_view word) {
  if (!word.empty() && (word.front() == '-' || word.front() == '+')) word.remove_prefix(1);
  if (word.empty() || !is_digit(word.front()) || !is_digit(word.back())) return false;
  return std::ranges::all_of(word, [](char c) { return is_digit(c) || is_separator(c); });
}

std::optional<std::uint64_t> parse_whole_number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  std::uint64_t value = 0;
  for (const char c : word) {
    if (is_separator(c)) continue;
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    if (value > most / 10 || (value == most / 10 && digit > most % 10)) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace pipewright::analysis
