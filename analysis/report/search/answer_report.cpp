#include "analysis/report/search/answer_report.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

constexpr std::size_t max_answer_width = 98;

// Breaks a list after commas into lines that fit a terminal, indented by `blanks`.
std::string wrap_list(const std::string& list, std::size_t blanks) {
  std::string text;
  std::size_t column = max_answer_width;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(", ", begin), list.size());
    const std::size_t size = end - begin + 1;
    if (column + size > max_answer_width) {
      text += fmt::format("{}{}", text.empty() ? "" : "\n", std::string(blanks, ' '));
      column = blanks;
    } else {
      text += ' ';
    }
    text += list.substr(begin, size);
    column += size + 1;
    begin = end + 2;
  }
  return text;
}

// Breaks a text into lines that fit a terminal, indented by two blanks, and by two more after the
// first.
std::string fold_item(const std::string& text) {
  std::string lines;
  for (const std::string& line : folded(text, max_answer_width - 2, max_answer_width - 4))
    lines += fmt::format("{}{}\n", lines.empty() ? "  " : "    ", line);
  return lines;
}

// Returns the lines of a table, without the line of headings if all of them are empty.
std::string table_lines(const TextTable& table) {
  const std::string text = table.text();
  return text.starts_with('\n') ? text.substr(1) : text;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    if (!line.empty()) text += (text.empty() ? "" : " ") + line;
  return text;
}

Json table_json(const TextTable& table) {
  Json headings = Json::array();
  Json rows = Json::array();
  for (const TextTable::Column& column : table.columns()) {
    headings.push_back(joined(column.head));
    for (std::size_t row = 0; row < column.cells.size(); ++row)
      rows[row].push_back(column.cells[row]);
  }
  return {{"headings", headings}, {"rows", rows}};
}

}  // namespace

void AnswerReport::add_heading(std::string heading, std::string sentence) {
  std::vector<std::string> details;
  if (!sentence.empty()) details.push_back(std::move(sentence));
  parts_.push_back({Kind::heading, std::move(heading), std::move(details), {}});
}

void AnswerReport::add_sentence(std::string sentence) {
  parts_.push_back({Kind::sentence, std::move(sentence), {}, {}});
}

void AnswerReport::add_item(std::string item, std::vector<std::string> details) {
  parts_.push_back({Kind::item, std::move(item), std::move(details), {}});
}

void AnswerReport::add_long_item(std::string item) {
  parts_.push_back({Kind::long_item, std::move(item), {}, {}});
}

void AnswerReport::add_numbered_item(std::string item) {
  parts_.push_back({Kind::numbered_item, std::move(item), {}, {}});
}

void AnswerReport::add_table(TextTable table) {
  parts_.push_back({Kind::table, "", {}, std::move(table)});
}

void AnswerReport::add_script(std::string title, std::string script) {
  parts_.push_back({Kind::script, std::move(title), {std::move(script)}, {}});
}

std::string AnswerReport::text() const {
  std::string text;
  std::size_t number = 0;
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Kind::heading:
        text += (text.empty() ? "" : "\n") + part.text;
        for (const std::string& sentence : part.details) text += " " + sentence;
        text += '\n';
        break;
      case Kind::sentence:
        text += part.text + "\n";
        break;
      case Kind::item:
        text += fmt::format("  {}\n", part.text);
        for (const std::string& detail : part.details) text += wrap_list(detail, 4) + "\n";
        break;
      case Kind::long_item:
        text += fold_item(part.text);
        break;
      case Kind::numbered_item:
        text += fold_item(fmt::format("{}  {}", ++number, part.text));
        break;
      case Kind::table:
        text += (number > 0 ? "\n" : "") + table_lines(part.table);
        break;
      case Kind::script:
        text += fmt::format("{}\n{}", part.text, part.details.front());
    }
  }
  return text;
}

Json AnswerReport::json() const {
  Json json = Json::array();
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Kind::heading:
        json.push_back({{"kind", "heading"}, {"text", part.text}});
        if (!part.details.empty())
          json.push_back({{"kind", "sentence"}, {"text", part.details.front()}});
        break;
      case Kind::sentence:
        json.push_back({{"kind", "sentence"}, {"text", part.text}});
        break;
      case Kind::item:
      case Kind::long_item:
        json.push_back({{"kind", "item"}, {"text", part.text}, {"details", part.details}});
        break;
      case Kind::numbered_item:
        json.push_back({{"kind", "numbered item"}, {"text", part.text}});
        break;
      case Kind::table: {
        Json table{{"kind", "table"}};
        table.update(table_json(part.table));
        json.push_back(std::move(table));
        break;
      }
      case Kind::script:
        json.push_back({{"kind", "script"}, {"text", part.text}, {"script", part.details.front()}});
    }
  }
  return json;
}

}  // namespace pipewright::analysis
