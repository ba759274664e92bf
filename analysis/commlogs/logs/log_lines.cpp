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

// Longest line that is read; the rest of a line is discarded. No table row and no useful command
// line is longer.
constexpr std::size_t max_line_length = std::size_t{1} << 16U;
constexpr std::size_t max_prefix_length = 100;

constexpr char escape = '\x1b';

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

std::string_view trim_blanks(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

// Copies the line without terminal escape sequences (ECMA-48): ESC [ parameters final, with a final
// character from '@' to '~'; ESC ] .. BEL; and other sequences of two characters.
void copy_without_escapes(std::string_view line, std::string& copy) {
  copy.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != escape) {
      copy += line[i];
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

// Copies the line without the tags that mpirun inserts, such as "[1,0]<stdout>:". They may be
// anywhere in a line, since mpirun adds one wherever the program flushed its output.
void copy_without_tags(std::string_view line, std::string& copy) {
  copy.clear();
  for (std::size_t position = 0; position < line.size();) {
    const std::size_t tag = line.find("]<std", position);
    const std::size_t end = line.find('>', std::min(tag, line.size()));
    const std::size_t start = tag == std::string_view::npos ? tag : line.rfind('[', tag);
    if (end == std::string_view::npos || start == std::string_view::npos || start < position) {
      copy += line.substr(position);
      return;
    }
    copy += line.substr(position, start - position);
    copy += ' ';
    position = end + 1;
    if (position < line.size() && line[position] == ':') ++position;
  }
}

// Returns true if the word is a date, a time or both: "2024-05-01T12:34:56.789Z", "12:34:56,789" or
// "2024/05/01".
bool is_time_stamp(std::string_view word) {
  if (word.size() < 8 || !is_decimal_digit(word.front())) return false;
  std::array<int, 3> counts{};
  for (const char c : word) {
    constexpr std::string_view separators = ":-/";
    if (const auto separator = separators.find(c); separator != std::string_view::npos)
      ++counts.at(separator);
    else if (!is_decimal_digit(c) && std::string_view(".,TZ+").find(c) == std::string_view::npos)
      return false;
  }
  return std::ranges::any_of(counts, [](int n) { return n >= 2; });
}

bool is_all_digits(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, is_decimal_digit);
}

// Returns the length of a prefix with host, process, thread and device, as NCCL writes it:
// "node-1:1234:1250 [0]"; 0 if there is none. Lines of NCCL keep it, since it distinguishes them
// from others.
std::size_t process_prefix_length(std::string_view line, std::string_view word) {
  const std::size_t thread = word.rfind(':');
  const std::size_t process = thread == std::string_view::npos || thread == 0
                                  ? std::string_view::npos
                                  : word.rfind(':', thread - 1);
  if (process == std::string_view::npos || !is_all_digits(word.substr(thread + 1)) ||
      !is_all_digits(word.substr(process + 1, thread - process - 1)))
    return 0;
  const std::size_t open = word.size() + 1;
  const std::size_t close = line.find(']');
  if (close == std::string_view::npos || close <= open + 1 || line[open] != '[' ||
      !is_all_digits(line.substr(open + 1, close - open - 1)))
    return 0;
  return trim_blanks(line.substr(close + 1)).starts_with("NCCL ") ? 0 : close + 1;
}

// Returns the length of the prefix that a launcher or log collector put before the line, such as
// "[1,0]:" or a time stamp; 0 if there is none.
std::size_t prefix_length(std::string_view line) {
  const char first = line.front();
  const std::string_view start = line.substr(0, max_prefix_length);
  if (start.starts_with("\xEF\xBB\xBF")) return 3;  // UTF-8 byte order mark
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
  if (const std::size_t process = process_prefix_length(start, word); process > 0) return process;
  const std::string_view rest = trim_blanks(start.substr(length));
  if (!is_whole_number(word) && rest.starts_with("| "))  // "worker-0  | "
    return static_cast<std::size_t>(rest.data() - line.data()) + 1;
  return 0;
}

bool is_separator(char c) { return c == '_' || c == ','; }

bool means_no_value(std::string_view word) {
  static constexpr std::array<std::string_view, 9> words{"N/A", "n/a", "NA",  "-",   "--",
                                                         "nan", "NaN", "NAN", "-nan"};
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::string_view without_prefixes(std::string_view line, std::string_view* rank_tag) {
  if (rank_tag != nullptr) *rank_tag = {};
  for (line = trim_blanks(line); !line.empty(); line = trim_blanks(line)) {
    const std::size_t length = prefix_length(line);
    if (length == 0) break;
    if (rank_tag != nullptr && is_rank_tag(line.substr(0, length)))
      *rank_tag = line.substr(0, length);
    line.remove_prefix(length);
  }
  return line;
}

LogLines::LogLines(const std::filesystem::path& file)
    : source_(file), stream_(&source_), buffer_(max_line_length) {
  stream_.exceptions(std::ios::badbit);  // Lets exceptions of the source pass through the stream.
}

bool LogLines::next() {
  if (!stream_.good()) return false;
  stream_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  auto length = static_cast<std::size_t>(stream_.gcount());
  if (length == 0) return false;
  ++number_;
  if (stream_.fail() && !stream_.eof()) {
    check_text({buffer_.data(), length});
    std::array<char, 4096> rest{};
    do {  // Read the rest of the line in pieces, so that the source does not see one endless token.
      source_.mark();
      stream_.clear();
      stream_.getline(rest.data(), rest.size());
      if (stream_.fail()) check_text({rest.data(), static_cast<std::size_t>(stream_.gcount())});
    } while (stream_.fail() && !stream_.eof());
  } else if (!stream_.eof()) {
    --length;  // gcount() counted the line end.
  }
  source_.mark();
  std::string_view line(buffer_.data(), length);
  if (number_ == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
    fail(number_, "the file is UTF-16 text; save it as UTF-8");
  check_text(line);
  if (std::memchr(line.data(), escape, line.size()) != nullptr) {
    copy_without_escapes(line, uncoloured_);
    line = uncoloured_;
  }
  if (line.find("]<std") != std::string_view::npos) {
    copy_without_tags(line, untagged_);
    line = untagged_;
  }
  std::string_view rank_tag;
  text_ = without_prefixes(line, &rank_tag);
  if (!rank_tag.empty()) text_ = trim_blanks(ranks_.join(rank_tag, text_));
  return true;
}

// A line of a device such as /dev/zero has no end, so parts of a line are checked, too.
void LogLines::check_text(std::string_view part) const {
  if (std::memchr(part.data(), '\0', part.size()) != nullptr)
    fail(number_, "the line has bytes that are not text; expected the output of a benchmark");
}

void LogLines::fail(int line, const std::string& message) const {
  throw trace::TraceError(fmt::format("{}:{}: {}", name(), line, message));
}

void split_words(std::string_view line, Words& words) {
  words.clear();
  const auto is_blank = [](char c) { return c == ' ' || c == '|' || (c >= '\t' && c <= '\r'); };
  for (std::size_t end = 0; end < line.size();) {
    while (end < line.size() && is_blank(line[end])) ++end;
    const std::size_t start = end;
    while (end < line.size() && !is_blank(line[end])) ++end;
    if (end > start) words.push_back(line.substr(start, end - start));
  }
}

std::optional<PrintedNumber> parse_printed(std::string_view word) {
  if (word.empty()) return std::nullopt;
  if (!is_decimal_digit(word.front()) && means_no_value(word))
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
  if (word.empty() || !is_decimal_digit(word.front()) || !is_decimal_digit(word.back()))
    return false;
  return std::ranges::all_of(word, [](char c) { return is_decimal_digit(c) || is_separator(c); });
}

std::optional<std::uint64_t> parse_whole_number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  std::uint64_t value = 0;
  for (const char c : word) {
    if (is_separator(c)) continue;
    if (!is_decimal_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    constexpr std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    if (value > limit / 10 || (value == limit / 10 && digit > limit % 10)) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace pipewright::analysis
