#include "sim/serve/text_edit.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pipewright::serve {
namespace {

using config::Origin;
using config::Value;

std::size_t offset_of(std::string_view text, const Origin& place) {
  std::size_t at = 0;
  for (int line = 1; line < place.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return text.size();
    ++at;
  }
  return std::min(text.size(), at + static_cast<std::size_t>(std::max(1, place.column)) - 1);
}

// Returns the position after the newline that ends the line of position `at`.
std::size_t line_end(std::string_view text, std::size_t at) {
  const std::size_t newline = text.find('\n', at);
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

bool begins_its_line(std::string_view text, std::size_t at) {
  const std::size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  return text.substr(start, at - start).find_first_not_of(' ') == std::string_view::npos;
}

// Returns the position of the bracket that closes the one at `at`. Brackets in quotes and comments
// are counted like any others.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '[') ++depth;
    if ((text[at] == '}' || text[at] == ']') && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::string> with_value(std::string text, const Value& old,
                                      std::string_view replacement) {
  if (old.kind != Value::Kind::text || old.origin.line == 0 || old.text.empty()) return {};
  const std::size_t at = offset_of(text, old.origin);
  if (text.compare(at, old.text.size(), old.text) != 0) return {};
  text.replace(at, old.text.size(), replacement);
  return text;
}

std::optional<std::string> with_entry(std::string text, const Value& map, std::string_view key,
                                      std::string_view value) {
  if (map.kind != Value::Kind::map || map.entries.empty()) return {};
  const std::size_t open = offset_of(text, map.origin);
  if (map.origin.line > 0 && open < text.size() && text[open] == '{') {
    const std::size_t end = closing_bracket(text, open);
    if (end == std::string::npos) return {};
    text.insert(end, fmt::format(", {}: {}", key, value));
    return text;
  }
  // The new entry goes on a line after the last one, whose key and value must be on the same line.
  const config::Entry& last = map.entries.back();
  if (last.origin.line == 0 || last.value.origin.line != last.origin.line) return {};
  std::size_t end = line_end(text, offset_of(text, last.value.origin));
  if (text[end - 1] != '\n') text.insert(end++, "\n");
  const std::string indent(static_cast<std::size_t>(last.origin.column) - 1, ' ');
  text.insert(end, fmt::format("{}{}: {}\n", indent, key, value));
  return text;
}

std::optional<std::string> without_entry(std::string text, const Value& map, std::size_t index,
                                         int end) {
  const Origin& from = map.entries.at(index).origin;
  if (index + 1 < map.entries.size()) end = map.entries[index + 1].origin.line;
  const std::size_t start = offset_of(text, from);
  if (from.line == 0 || !begins_its_line(text, start) || (end != 0 && end <= from.line)) return {};
  const std::size_t line = start - (static_cast<std::size_t>(from.column) - 1);
  const std::size_t until = end == 0 ? text.size() : offset_of(text, {.line = end, .column = 1});
  text.erase(line, until - line);
  return text;
}

std::string first_comments(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (text[end] == '#' || text[end] == '\n')) end = line_end(text, end);
  return std::string(text.substr(0, end));
}

}  // namespace pipewright::serve
