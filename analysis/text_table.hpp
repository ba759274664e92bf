#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pipewright::analysis {

// A table of text with aligned columns under heads of one or more lines, which stand on the last.
class TextTable {
 public:
  void add_names(std::string head, std::vector<std::string> cells);                 // to the left
  void add_numbers(std::vector<std::string> head, std::vector<std::string> cells);  // to the right
  // Each line ends with '\n'. Columns are two blanks apart, or one if the lines get longer than
  // `columns` otherwise.
  std::string text(std::size_t columns = 100) const;

 private:
  struct Column {
    std::vector<std::string> head;
    std::vector<std::string> cells;
    bool left;
    std::size_t width;
  };
  std::vector<Column> columns_;
};

// What a name from a file looks like in a terminal: control characters as "\n", "\x1b".
std::string printable(const std::string& name);

}  // namespace pipewright::analysis
