#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

// A text table with aligned columns. Headings of fewer lines than others are aligned to the last
// line.
class TextTable {
 public:
  // Adds a column that is aligned to the left.
  void add_names(std::string head, std::vector<std::string> cells);
  // Adds a column that is aligned to the right.
  void add_numbers(std::vector<std::string> head, std::vector<std::string> cells);
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

// Breaks a text at blanks into lines of at most `first_width` bytes for the first and `width` bytes
// for the others. Words that are longer stay whole.
std::vector<std::string> folded(const std::string& text, std::size_t first_width,
                                std::size_t width);

// Makes a name from a file safe for a terminal: control characters become "\n", "\x1b".
std::string printable(const std::string& name);

// Writes a field of a CSV file, quoted where RFC 4180 requires it. A text that begins with = + - or
// @ gets an apostrophe before it, so that no spreadsheet takes it for a formula.
inline std::string csv_field(std::string_view words) {
  std::string field;
  if (!words.empty() && std::string_view("=+-@\t\r").find(words.front()) != std::string_view::npos)
    field += '\'';
  for (const char c : words) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  if (words.find_first_of(",\"\r\n") == std::string_view::npos) return field;
  return '"' + field + '"';
}

// Makes a text safe to draw: replaces control characters and each byte of invalid UTF-8 by U+FFFD.
std::string drawable(std::string_view words);

void drop_last_character(std::string& utf8);

}  // namespace pipewright::analysis
