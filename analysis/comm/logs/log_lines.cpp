#include "analysis/comm/logs/log_lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "analysis/comm/logs/log_words.hpp"
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

}  // namespace pipewright::analysis
