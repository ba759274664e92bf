#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

// A table of text with aligned columns under heads of one or more lines, which stand on the last.
class TextTable {
 public:
  void add_names(std::string head, std::vector<std::string> cells);                 // to the left
  void add_numbers(std::vector<std::string> head, std::vector<std::string> cells);  // to the right
  // Each line ends with '\n'. Columns are `gap` blanks apart, or fewer where the lines would get
  // longer than `columns` otherwise, but at least one.
  std::string text(std::size_t columns = 100, std::size_t gap = 2) const;

  struct Column {
    std::vector<std::string> head;
    std::vector<std::string> cells;
    bool left;
    std::size_t width;
  };
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
};

// What a name from a file looks like in a terminal: control characters as "\n", "\x1b".
std::string printable(const std::string& name);

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

// UTF-8 without control characters; what is neither becomes U+FFFD, one for each byte.
std::string drawable(std::string_view words);

void drop_last_character(std::string& utf8);

}  // namespace pipewright::analysis
