#include "sim/jobs/shell/words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace pipewright::jobs {

std::string line_mark(int line) { return fmt::format("{}{}{}", line_begin, line, line_end); }

bool skip_mark(std::string_view text, std::size_t& at, int& line) {
  if (at >= text.size()) return false;
  if (text[at] == joined_line) {
    ++at;
    ++line;
    return true;
  }
  if (text[at] != line_begin) return false;
  line = 0;
  for (++at; at < text.size() && text[at] != line_end; ++at) line = line * 10 + (text[at] - '0');
  if (at < text.size()) ++at;
  return true;
}

std::string without_marks(std::string_view text) {
  std::string plain;
  int line = 0;
  for (std::size_t at = 0; at < text.size();)
    if (!skip_mark(text, at, line)) plain += text[at++];
  return plain;
}

std::string unknown(std::string_view name) {
  return fmt::format("{}{}{}", unknown_begin, name, unknown_end);
}

std::size_t unknown_length(std::string_view text) {
  const std::size_t end = text.find(unknown_end);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::optional<std::string> unknown_in(std::string_view text) {
  const std::size_t begin = text.find(unknown_begin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find(unknown_end, begin), text.size());
  return std::string(text.substr(begin + 1, end - begin - 1));
}

bool is_of_running_shell(std::string_view name) {
  static constexpr std::array<std::string_view, 22> names{
      "HOME",   "USER",    "LOGNAME",       "PWD",          "OLDPWD",   "HOSTNAME",
      "RANDOM", "SECONDS", "UID",           "EUID",         "PPID",     "PATH",
      "SHELL",  "BASHPID", "OSTYPE",        "EPOCHSECONDS", "HOSTTYPE", "LINENO",
      "$",      "!",       "EPOCHREALTIME", "MACHTYPE"};
  return std::ranges::find(names, name) != names.end();
}

bool has_running_value(std::string_view text) {
  for (std::size_t at = text.find(unknown_begin); at != std::string_view::npos;
       at = text.find(unknown_begin, at + 1)) {
    const std::string name = *unknown_in(text.substr(at));
    if (name.find_first_of("$`<") != std::string::npos || is_of_running_shell(name)) return true;
  }
  return false;
}

std::string without_unset(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != unknown_begin) {
      kept += text[at++];
      continue;
    }
    const std::size_t length = unknown_length(text.substr(at));
    if (has_running_value(text.substr(at, length))) kept += text.substr(at, length);
    at += length;
  }
  return kept;
}

std::string readable(std::string_view text) {
  std::string shown;
  const std::string plain = without_marks(text);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i] == unknown_begin) {
      if (i + 1 < plain.size() && std::string_view("$`<").find(plain[i + 1]) == std::string::npos)
        shown += '$';
    } else if (plain[i] != unknown_end) {
      shown += plain[i] == '\n' ? ' ' : plain[i];
    }
  }
  return shown;
}

std::string plain_text(const Word& word) { return without_unset(without_marks(word.text)); }

bool is_variable_name(std::string_view text) {
  return !text.empty() && (text.front() < '0' || text.front() > '9') &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

}  // namespace pipewright::jobs
