#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/text_table.hpp"
#include "sim/cli/help/topics.hpp"

namespace pipewright::cli {
namespace {

// Number of characters of a UTF-8 text.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t indent(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// A Markdown link "[words](target)" that begins at a position of a text; `end` is 0 if none does.
struct Link {
  std::string_view words;
  std::string_view target;
  std::size_t end = 0;
};
Link link_at(std::string_view text, std::size_t start) {
  const std::size_t middle = text.find("](", start);
  if (middle == std::string_view::npos) return {};
  const std::size_t end = text.find(')', middle);
  if (end == std::string_view::npos) return {};
  return {text.substr(start + 1, middle - start - 1), text.substr(middle + 2, end - middle - 2),
          end + 1};
}

// Removes the markup of a paragraph or cell. Code between backticks is left as it is.
std::string inline_text(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const bool is_picture = text.substr(i, 2) == "![";
    if (text[i] == '`') {
      const std::size_t end = std::min(text.find('`', i + 1), text.size() - 1);
      plain += text.substr(i, end + 1 - i);
      i = end + 1;
    } else if (text.substr(i, 2) == "**") {
      i += 2;
    } else if (text.substr(i, 2) == "\\|") {
      plain += '|';
      i += 2;
    } else if (const Link link =
                   is_picture || text[i] == '[' ? link_at(text, i + is_picture) : Link{};
               link.end > 0) {
      const std::string words = inline_text(link.words);
      const std::string name = link_name(link.target);
      plain += is_picture ? fmt::format("[picture: {}]", words)
               : name.empty() || words.find(name) != std::string::npos
                   ? words
                   : fmt::format("{} ({})", words, name);
      i = link.end;
    } else {
      plain += text[i++];
    }
  }
  return plain;
}

// Breaks a text into lines of at most `columns`; a longer word has its own line.
std::vector<std::string> filled(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (std::size_t start = text.find_first_not_of(' '); start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    if (lines.empty() || width(lines.back()) + 1 + width(word) > columns)
      lines.emplace_back(word);
    else
      lines.back() += fmt::format(" {}", word);
    start = text.find_first_not_of(' ', end);
  }
  return lines;
}

std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  bool is_code = false;
  std::size_t start = 1;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '`') is_code = !is_code;
    if (row[i] != '|' || is_code || row[i - 1] == '\\') continue;
    cells.push_back(fmt::format(
        "{}", fmt::join(filled(inline_text(row.substr(start, i - start)), row.size() * 2), " ")));
    start = i + 1;
  }
  return cells;
}

// Returns true for the rule below the headings of a table, such as |---|---:|.
bool is_rule(std::string_view row) {
  return row.find_first_not_of("|-: ") == std::string_view::npos;
}

std::string table_text(const std::vector<std::string_view>& rows, std::size_t columns) {
  const std::vector<std::string> heads = cells_of(rows.front());
  std::vector<std::vector<std::string>> body;
  std::vector<std::size_t> widths;
  for (const std::string& head : heads) widths.push_back(width(head));
  for (const std::string_view row : rows) {
    if (row == rows.front() || is_rule(row)) continue;
    body.push_back(cells_of(row));
    body.back().resize(heads.size());
    for (std::size_t i = 0; i < heads.size(); ++i)
      widths[i] = std::max(widths[i], width(body.back()[i]));
  }
  std::size_t before_last = 0;
  for (std::size_t i = 0; i + 1 < heads.size(); ++i) before_last += widths[i] + 2;
  const std::size_t left = std::max<std::size_t>(32, columns - std::min(columns, before_last));

  std::vector<std::vector<std::string>> by_column(heads.size());
  for (const std::vector<std::string>& cells : body) {
    std::vector<std::string> lines = filled(cells.back(), left);
    if (lines.empty()) lines.emplace_back();
    for (std::size_t line = 0; line < lines.size(); ++line) {
      for (std::size_t i = 0; i + 1 < heads.size(); ++i)
        by_column[i].push_back(line == 0 ? cells[i] : "");
      by_column.back().push_back(lines[line]);
    }
  }
  analysis::TextTable table;
  for (std::size_t i = 0; i < heads.size(); ++i) table.add_names(heads[i], by_column[i]);
  return table.text(before_last + left);
}

// Position of the text of a list item, after "- " or "12. "; 0 if the line begins no item.
std::size_t item_text(std::string_view line) {
  std::size_t i = indent(line);
  if (line.substr(i, 2) == "- ") return i + 2;
  const std::size_t digits = i;
  while (i < line.size() && line[i] >= '0' && line[i] <= '9') ++i;
  return i > digits && line.substr(i, 2) == ". " ? i + 2 : 0;
}

bool begins_block(std::string_view line) {
  return line.empty() || line.starts_with("#") || line.starts_with("|") ||
         line.starts_with("<!--") || line.substr(indent(line)).starts_with("```") ||
         item_text(line) > 0;
}

class Page {
 public:
  Page(std::string_view markdown, std::size_t columns) : columns_(columns) {
    for (std::size_t start = 0; start < markdown.size();) {
      const std::size_t end = std::min(markdown.find('\n', start), markdown.size());
      lines_.push_back(markdown.substr(start, end - start));
      start = end + 1;
    }
  }

  std::string text() {
    while (!at_end()) {
      const std::string_view line = lines_[next_];
      if (line.empty()) {
        if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
        ++next_;
      } else if (line.starts_with("<!--")) {
        while (!at_end() && lines_[next_].find("-->") == std::string_view::npos) ++next_;
        ++next_;
      } else if (line.substr(indent(line)).starts_with("```")) {
        add_code();
      } else if (line.starts_with("#")) {
        add_title(line);
      } else if (line.starts_with("|")) {
        add_table();
      } else if (line.starts_with("    ") && text_.ends_with("\n\n")) {
        text_ += fmt::format("{}\n", line);
        ++next_;
      } else {
        add_paragraph();
      }
    }
    return std::move(text_);
  }

 private:
  bool at_end() const { return next_ >= lines_.size(); }

  void add_code() {
    for (++next_; !at_end() && !lines_[next_].substr(indent(lines_[next_])).starts_with("```");
         ++next_)
      text_ += lines_[next_].empty() ? "\n" : fmt::format("    {}\n", lines_[next_]);
    ++next_;
  }

  void add_title(std::string_view line) {
    const std::size_t depth = line.find_first_not_of('#');
    const std::string title = inline_text(line.substr(std::min(depth + 1, line.size())));
    text_ += title + '\n';
    if (depth <= 2) text_ += std::string(width(title), depth == 1 ? '=' : '-') + '\n';
    ++next_;
  }

  void add_table() {
    std::vector<std::string_view> rows;
    for (; !at_end() && lines_[next_].starts_with("|"); ++next_) rows.push_back(lines_[next_]);
    text_ += table_text(rows, columns_);
  }

  // Adds a paragraph or list item. Lines after the first are indented by the width of the item's
  // mark.
  void add_paragraph() {
    const std::string_view first = lines_[next_];
    const std::size_t margin = item_text(first) > 0 ? item_text(first) : indent(first);
    std::string prose(first.substr(margin));
    for (++next_; !at_end() && !begins_block(lines_[next_]); ++next_)
      prose += fmt::format(" {}", lines_[next_]);
    std::string mark(first.substr(0, margin));
    for (const std::string& line : filled(inline_text(prose), columns_ - margin)) {
      text_ += fmt::format("{}{}\n", mark, line);
      mark.assign(margin, ' ');
    }
  }

  std::size_t columns_;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
  std::string text_;
};

}  // namespace

std::string markdown_text(std::string_view markdown, std::size_t columns) {
  return Page(markdown, columns).text();
}

}  // namespace pipewright::cli
