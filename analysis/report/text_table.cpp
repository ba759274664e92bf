#include "analysis/report/text_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

// Returns the number of characters in a UTF-8 text.
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

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Returns the size in bytes of the first character of `rest`, or 0 if it cannot be drawn: a control
// character, an overlong form, a surrogate, or a code above U+10FFFF (RFC 3629).
std::size_t character_size(std::string_view rest) {
  const auto lead = static_cast<unsigned char>(rest.front());
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || rest.size() < size) return 0;
  std::uint32_t code = lead & (0xFFU >> (size + 1));
  for (const char byte : rest.substr(1, size - 1)) {
    if (!is_continuation(byte)) return 0;
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> smallest_code{0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest_code[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  return code < 0xA0 ? 0 : size;  // U+0080 to U+009F are controls
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

std::string TextTable::text(std::size_t columns, std::size_t gap) const {
  std::size_t heads = 0;
  std::size_t rows = 0;
  std::size_t width = 0;
  for (const Column& column : columns_) {
    heads = std::max(heads, column.head.size());
    rows = std::max(rows, column.cells.size());
    width += column.width;
  }
  while (gap > 1 && width + gap * (columns_.size() - 1) > columns) --gap;
  const std::string blanks(gap, ' ');

  std::string text;
  const auto put = [&](const Column& column, const std::string& cell) {
    const std::string padding(column.width - characters(cell), ' ');
    if (&column != columns_.data()) text += blanks;
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

std::vector<std::string> folded(const std::string& text, std::size_t first_width,
                                std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t limit = lines.empty() ? first_width : width;
    std::size_t end = text.size();
    if (end - begin > limit) {
      end = text.rfind(' ', begin + limit);
      if (end == std::string::npos || end <= begin) end = text.find(' ', begin + limit);
      end = std::min(end, text.size());
    }
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
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

std::string drawable(std::string_view words) {
  std::string text;
  while (!words.empty()) {
    const std::size_t size = character_size(words);
    if (size == 0)
      text += "\uFFFD";
    else
      text += words.substr(0, size);
    words.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

void drop_last_character(std::string& utf8) {
  while (!utf8.empty() && is_continuation(utf8.back())) utf8.pop_back();
  if (!utf8.empty()) utf8.pop_back();
}

}  // namespace pipewright::analysis
