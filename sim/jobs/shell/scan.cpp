#include "sim/jobs/shell/scan.hpp"

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t missing = std::string_view::npos;
constexpr int max_nesting = 64;

std::size_t length_at(std::string_view text, int depth);

// Position of the double quote that ends a text in double quotes.
std::size_t end_of_double(std::string_view text, std::size_t at, int depth) {
  while (at < text.size() && text[at] != '"') {
    const char c = text[at];
    const bool opens =
        c == '`' || c == unknown_begin || c == '\\' ||
        (c == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{'));
    const std::size_t length = opens ? length_at(text.substr(at), depth + 1) : 1;
    if (length == 0) return missing;
    at += length;
  }
  return at < text.size() ? at : missing;
}

// A comment within $( ) may hold quotes.
bool begins_comment(std::string_view text, std::size_t at) {
  return text[at] == '#' && at > 0 &&
         std::string_view(" \t\n;").find(text[at - 1]) != std::string_view::npos;
}

std::size_t end_of_bracket(std::string_view text, std::size_t at, char close, int depth) {
  int opened = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == close && opened-- == 0) return at;
    if (close == ')' && begins_comment(text, at)) {
      at = text.find('\n', at);
      if (at == missing) return missing;
      continue;
    }
    // As in a shell, braces without a dollar do not nest.
    if (close == ')' && c == '(') ++opened;
    const std::size_t length = length_at(text.substr(at), depth + 1);
    if (length == 0) return missing;
    at += length;
  }
  return missing;
}

std::size_t length_at(std::string_view text, int depth) {
  if (text.empty() || depth > max_nesting) return 0;
  const auto behind = [](std::size_t end) { return end == missing ? 0 : end + 1; };
  switch (text.front()) {
    case '\\':
      return text.size() > 1 ? 2 : 1;
    case '\'':
      return behind(text.find('\'', 1));
    case '"':
      return behind(end_of_double(text, 1, depth));
    case unknown_begin:
      return unknown_length(text);
    case '`': {
      std::size_t end = 1;
      while (end < text.size() && text[end] != '`') end += text[end] == '\\' ? 2 : 1;
      return end < text.size() ? end + 1 : 0;
    }
    case '$':
      if (text.starts_with("$(")) return behind(end_of_bracket(text, 2, ')', depth));
      if (text.starts_with("${")) return behind(end_of_bracket(text, 2, '}', depth));
      if (text.starts_with("$'")) {
        std::size_t end = 2;
        while (end < text.size() && text[end] != '\'') end += text[end] == '\\' ? 2 : 1;
        return end < text.size() ? end + 1 : 0;
      }
      // $# and $$ are whole, so that the # begins no comment.
      return text.size() > 1 && (text[1] == '#' || text[1] == '$') ? 2 : 1;
    default:
      return 1;
  }
}

}  // namespace

std::size_t closed_length(std::string_view text) { return length_at(text, 0); }

std::size_t find_close(std::string_view text, std::size_t at, char close) {
  return end_of_bracket(text, at, close, 0);
}

}  // namespace pipewright::jobs
