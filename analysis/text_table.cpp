#include "analysis/text_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

// Characters, not bytes, of UTF-8.
std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, characters(text));
  return width;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

void TextTable::add_names(std::string head, std::vector<std::string> cells) {
  const std::size_t width = std::max(characters(head), widest(cells));
  columns_.push_back({{std::move(head)}, std::move(cells), true, width});
}

void TextTable::add_numbers(std::vector<std::string> head, std::vector<std::string> cells) {
  const std::size_t width = std::max(widest(head), widest(cells));
  columns_.push_back({std::move(head), std::move(cells), false, width});
}

std::string TextTable::text(std::size_t columns) const {
  std::size_t heads = 0;
  std::size_t rows = 0;
  std::size_t width = 0;
  for (const Column& column : columns_) {
    heads = std::max(heads, column.head.size());
    rows = std::max(rows, column.cells.size());
    width += column.width;
  }
  const std::string gap(width + 2 * (columns_.size() - 1) <= columns ? 2 : 1, ' ');

  std::string text;
  const auto put = [&](const Column& column, const std::string& cell) {
    const std::string padding(column.width - characters(cell), ' ');
    if (&column != columns_.data()) text += gap;
    text += column.left ? cell + padding : padding + cell;
  };
  for (std::size_t line = 0; line < heads; ++line) {
    for (const Column& column : columns_) {
      const std::size_t empty = heads - column.head.size();
      put(column, line < empty ? "" : column.head[line - empty]);
    }
    end_line(text);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (const Column& column : columns_)
      put(column, row < column.cells.size() ? column.cells[row] : "");
    end_line(text);
  }
  return text;
}

std::string printable(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else if (code < 0x20 || code == 0x7F)
      text += fmt::format("\\x{:02x}", code);
    else
      text += c;
  }
  return text;
}

}  // namespace pipewright::analysis
