#include "analysis/commlogs/logs/log_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

// No row of a table, and no command line that is worth reading, is longer. What is behind is lost.
constexpr std::size_t longest_line = std::size_t{1} << 16U;
constexpr std::size_t longest_prefix = 100;

constexpr char escape = '\x1b';

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

std::string_view without_blanks(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

// ECMA-48: ESC [ parameters final, with final from '@' to '~', and ESC ] .. BEL; else two
// characters.
void copy_uncoloured(std::string_view line, std::string& to) {
  to.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != escape) {
      to += line[i];
      continue;
    }
    const char kind = i + 1 < line.size() ? line[i + 1] : '\0';
    ++i;
    if (kind == '[')
      for (++i; i < line.size() && (line[i] < '@' || line[i] > '~');) ++i;
    else if (kind == ']')
      for (++i; i < line.size() && line[i] != '\a';) ++i;
  }
}

// "[1,0]<stdout>:" stands at each place where the program flushed what it had printed so far.
void copy_untagged(std::string_view line, std::string& to) {
  to.clear();
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t tag = line.find("]<std", at);
    const std::size_t end = line.find('>', std::min(tag, line.size()));
    const std::size_t start = tag == std::string_view::npos ? tag : line.rfind('[', tag);
    if (end == std::string_view::npos || start == std::string_view::npos || start < at) {
      to += line.substr(at);
      return;
    }
    to += line.substr(at, start - at);
    to += ' ';
    at = end + 1;
    if (at < line.size() && line[at] == ':') ++at;
  }
}

// "2024-05-01T12:34:56.789Z", "12:34:56,789", "2024/05/01".
bool is_time_stamp(std::string_view word) {
  if (word.size() < 8 || !is_digit(word.front())) return false;
  std::array<int, 3> found{};
  for (const char c : word) {
    constexpr std::string_view separators = ":-/";
    if (const auto at = separators.find(c); at != std::string_view::npos)
      ++found.at(at);
    else if (!is_digit(c) && std::string_view(".,TZ+").find(c) == std::string_view::npos)
      return false;
  }
  return std::ranges::any_of(found, [](int n) { return n >= 2; });
}

// How long a prefix at the start of a line is; 0: there is none.
std::size_t prefix_length(std::string_view line) {
  const char first = line.front();
  const std::string_view start = line.substr(0, longest_prefix);
  if (start.starts_with("\xEF\xBB\xBF")) return 3;  // UTF-8's byte order mark
  if ((first == '>' || first == '|' || first == '`') && (line.size() == 1 || is_blank(line[1])))
    return 1;
  if (first == '[') {  // "[2024-05-01 12:34:56] ", "[pod/worker-0] ", "[1,0]:"
    const std::size_t close = start.find(']');
    if (close == std::string_view::npos) return 0;
    return close + (line.substr(close + 1).starts_with(':') ? 2 : 1);
  }
  const auto blank = std::ranges::find_if(start, is_blank);
  const auto length = static_cast<std::size_t>(blank - start.begin());
  const std::string_view word = start.substr(0, length);
  if (is_time_stamp(word)) return length;
  if (word.size() > 1 && word.back() == ':') return length;  // "0:", "worker-0:"
  const std::string_view rest = without_blanks(start.substr(length));
  if (!is_whole_number(word) && rest.starts_with("| "))  // "worker-0  | "
    return static_cast<std::size_t>(rest.data() - line.data()) + 1;
  return 0;
}

bool is_separator(char c) { return c == '_' || c == ','; }

bool says_none(std::string_view word) {
  static constexpr std::array<std::string_view, 9> words{"N/A", "n/a", "NA",  "-",   "--",
                                                         "nan", "NaN", "NAN", "-nan"};
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::string_view without_prefixes(std::string_view line) {
  for (line = without_blanks(line); !line.empty(); line = without_blanks(line)) {
    const std::size_t length = prefix_length(line);
    if (length == 0) break;
    line.remove_prefix(length);
  }
  return line;
}

LogLines::LogLines(const std::filesystem::path& file)
    : source_(file), stream_(&source_), buffer_(longest_line) {
  stream_.exceptions(std::ios::badbit);  // what the source throws goes through
}

bool LogLines::next() {
  if (!stream_.good()) return false;
  stream_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  auto length = static_cast<std::size_t>(stream_.gcount());
  if (length == 0) return false;
  ++number_;
  if (stream_.fail() && !stream_.eof()) {
    std::array<char, 4096> rest{};
    do {  // the rest of the line, in pieces, for the source not to see one endless token
      source_.mark();
      stream_.clear();
      stream_.getline(rest.data(), rest.size());
    } while (stream_.fail() && !stream_.eof());
  } else if (!stream_.eof()) {
    --length;  // the end of the line was counted
  }
  source_.mark();
  std::string_view line(buffer_.data(), length);
  if (number_ == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
    fail(number_, "is UTF-16 text; save it as UTF-8");
  if (std::memchr(line.data(), '\0', line.size()) != nullptr)
    fail(number_, "holds bytes that are no text; what was expected is what a benchmark printed");
  if (std::memchr(line.data(), escape, line.size()) != nullptr) {
    copy_uncoloured(line, uncoloured_);
    line = uncoloured_;
  }
  if (line.find("]<std") != std::string_view::npos) {
    copy_untagged(line, untagged_);
    line = untagged_;
  }
  text_ = without_prefixes(line);
  return true;
}

void LogLines::fail(int line, const std::string& what) const {
  throw trace::TraceError(fmt::format("{}:{}: {}", name(), line, what));
}

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
