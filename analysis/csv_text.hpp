#pragma once

#include <string>
#include <string_view>

namespace pipewright::analysis {

// A field of a CSV file, in quotes where RFC 4180 wants them. A text that a spreadsheet would take
// for a formula, for it begins with = + - or @, gets an apostrophe before it.
inline std::string csv_field(std::string_view words) {
  std::string field;
  if (!words.empty() && std::string_view("=+-@\t\r").find(words.front()) != std::string_view::npos)
    field += '\'';
  for (const char c : words) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  if (words.find_first_of(",\"\r\n") == std::string_view::npos) return field;
  return '"' + field + '"';
}

}  // namespace pipewright::analysis
