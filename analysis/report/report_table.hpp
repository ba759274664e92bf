#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

// A report is declared once, as columns of its rows. Text tables, JSON and CSV are derived from it:
//
//   struct Link { std::string name; double bandwidth; std::optional<double> latency; };
//
//   const ReportColumns<Link> columns{
//       {"link", {"link"}, Quantity::name(), &Link::name},
//       {"bandwidth_bytes_per_s", {"band-", "width"}, Quantity::rate(), &Link::bandwidth},
//       {"latency_s", {"latency"}, Quantity::seconds(3), &Link::latency},
//       {"is_slow", [](const Link& link) { return link.bandwidth < 1e9; }}};
//
//   table_text(columns, links);   //       band-
//                                 //       width  latency
//                                 //  link   G/s       us
//                                 //  nvl    450     1.25
//   json_rows(columns, links);    //  [{"link":"nvl","bandwidth_bytes_per_s":450e9,...}]
//   csv_text(columns, links);     //  link,bandwidth_bytes_per_s,latency_s,is_slow
//
// A column without a heading appears only in files; a column from table_only() only in tables. The
// value of a column may be a lambda that captures further data, such as the makespan of a share.
namespace nlohmann {

// Converts an optional to JSON: an empty one becomes null.
template <class Value>
struct adl_serializer<std::optional<Value>> {
  template <class Json>
  static void to_json(Json& json, const std::optional<Value>& value) {
    if (value)
      json = *value;
    else
      json = nullptr;
  }
};

}  // namespace nlohmann

namespace pipewright::analysis {

// A cell of a report: null where it is unknown. Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

inline void to_json(Json& json, const Range& range) {
  json = Json::array({range.least, range.most});
}

// Returns the value that stands for a field that a row lacks. JSON objects omit its key.
inline Json no_field() { return Json::value_t::discarded; }

// Kind of quantity in a column, which decides how tables format its cells. An array of two numbers
// is a range; a text is written as it is.
struct Quantity {
  // Chooses the scale for all numbers of a column from the largest one. The unit of the scale
  // becomes the last line of the heading.
  std::function<ColumnScale(double largest)> scale;
  std::function<std::string(double)> format;  // writes a number with its own unit; replaces `scale`
  double factor = 1;                          // 100 for percentages of ratios
  double negligible = 0;         // largest value that counts as empty in an optional column
  std::string unknown = "-";     // text for null
  bool zero_is_unknown = false;  // in tables
  bool is_name = false;          // aligned to the left, under a heading of one line

  static Quantity name() { return {.is_name = true}; }
  static Quantity count() { return {}; }      // aligned to the right, without a scale
  static Quantity seconds(int digits);        // significant digits
  static Quantity bytes();                    // in KiB, MiB, ...
  static Quantity rate();                     // per second: k/s, M/s, ...
  static Quantity percent(int decimals = 1);  // from a ratio
  static Quantity on(ColumnScale scale);      // with a scale that several columns share
  static Quantity each_as(std::function<std::string(double)> format);  // every number with a unit
};

template <class Row>
struct ReportColumn {
  std::string key;                   // in JSON and CSV, with the unit: "busy_s"
  std::vector<std::string> heading;  // lines in a table, without the unit
  Quantity quantity;
  std::function<Json(const Row&)> value;
  bool is_optional = false;  // a table omits the column if it is empty in all rows
  bool is_in_files = true;
  std::function<bool(const Row&)> is_marked;  // rows whose cells have a ~ in tables; may be empty

  ReportColumn(std::string key_, std::vector<std::string> heading_, Quantity quantity_,
               std::function<Json(const Row&)> value_)
      : key(std::move(key_)),
        heading(std::move(heading_)),
        quantity(std::move(quantity_)),
        value(std::move(value_)) {}
  ReportColumn(std::string key_, std::function<Json(const Row&)> value_)
      : key(std::move(key_)), value(std::move(value_)) {}
};
template <class Row>
using ReportColumns = std::vector<ReportColumn<Row>>;

template <class Row>
ReportColumn<Row> table_only(ReportColumn<Row> column) {
  column.is_in_files = false;
  return column;
}
template <class Row>
ReportColumn<Row> optional(ReportColumn<Row> column) {
  column.is_optional = true;
  return column;
}

// Returns the column with a mark on the cells of rows for which `is_assumed` is true.
template <class Row, class Predicate>
ReportColumn<Row> marked(ReportColumn<Row> column, Predicate is_assumed) {
  column.is_marked = [is_assumed = std::move(is_assumed)](const Row& row) {
    return std::invoke(is_assumed, row);
  };
  return column;
}

// Returns the columns with these keys, in the order of the keys. Throws std::logic_error for an
// unknown key.
template <class Row>
ReportColumns<Row> picked(const ReportColumns<Row>& columns,
                          std::initializer_list<std::string_view> keys);

// Turns columns of a member (`part_of` returns it) into columns of the row that contains it.
template <class Row, class Part, class Projection>
ReportColumns<Row> of_part(const ReportColumns<Part>& columns, const Projection& part_of);

// Adds a column to a table. `marks` is empty, or has a flag for each cell: whether the cell gets a
// mark.
void add_column(TextTable& table, const std::vector<std::string>& heading, const Quantity& quantity,
                const std::vector<Json>& cells, bool is_optional = false,
                const std::vector<bool>& marks = {});
template <class Row, std::ranges::input_range Rows>
void add_columns(TextTable& table, const ReportColumns<Row>& columns, const Rows& rows);

// Returns a text table; each line ends with '\n'. A table without rows has only its headings.
template <class Row, std::ranges::input_range Rows>
std::string table_text(const ReportColumns<Row>& columns, const Rows& rows);

template <class Row>
Json json_object(const ReportColumns<Row>& columns, const Row& row);
template <class Row, std::ranges::input_range Rows>
Json json_rows(const ReportColumns<Row>& columns, const Rows& rows);
// Writes an indented document that ends with a newline. Invalid UTF-8 becomes U+FFFD.
//
// Writing and parsing JSON are compiled in report_table.cpp alone, since each takes the compiler
// seconds.
std::string json_document(const Json& json);
// Writes JSON on one line, without a newline. `not_utf8` selects what to do with invalid UTF-8.
std::string json_line(const Json& json,
                      Json::error_handler_t not_utf8 = Json::error_handler_t::replace);
Json parse_json(std::string_view text);  // throws Json::parse_error

// Formats a cell as a CSV field: null is empty, and csv_field quotes texts. Numbers read back as
// the same double.
std::string csv_cell(const Json& cell);
template <class Row>
std::string csv_heading(const ReportColumns<Row>& columns);  // without its newline
template <class Row>
std::string csv_line(const ReportColumns<Row>& columns, const Row& row);  // without its newline
template <class Row, std::ranges::input_range Rows>
std::string csv_text(const ReportColumns<Row>& columns, const Rows& rows);

// Definitions of the function templates declared above.

[[noreturn]] void throw_no_column(std::string_view key);

template <class Row>
ReportColumns<Row> picked(const ReportColumns<Row>& columns,
                          std::initializer_list<std::string_view> keys) {
  ReportColumns<Row> selection;
  for (const std::string_view key : keys) {
    const auto column = std::ranges::find(columns, key, &ReportColumn<Row>::key);
    if (column == columns.end()) throw_no_column(key);
    selection.push_back(*column);
  }
  return selection;
}

template <class Row, class Part, class Projection>
ReportColumns<Row> of_part(const ReportColumns<Part>& columns, const Projection& part_of) {
  ReportColumns<Row> row_columns;
  for (const ReportColumn<Part>& column : columns) {
    ReportColumn<Row> row_column(column.key, column.heading, column.quantity,
                                 [part_of, value = column.value](const Row& row) {
                                   return value(std::invoke(part_of, row));
                                 });
    row_column.is_optional = column.is_optional;
    row_column.is_in_files = column.is_in_files;
    if (column.is_marked)
      row_column.is_marked = [part_of, is_marked = column.is_marked](const Row& row) {
        return is_marked(std::invoke(part_of, row));
      };
    row_columns.push_back(std::move(row_column));
  }
  return row_columns;
}

template <class Row, std::ranges::input_range Rows>
void add_columns(TextTable& table, const ReportColumns<Row>& columns, const Rows& rows) {
  for (const ReportColumn<Row>& column : columns) {
    if (column.heading.empty()) continue;
    std::vector<Json> cells;
    std::vector<bool> marks;
    for (const Row& row : rows) {
      cells.push_back(column.value(row));
      if (column.is_marked) marks.push_back(column.is_marked(row));
    }
    add_column(table, column.heading, column.quantity, cells, column.is_optional, marks);
  }
}

template <class Row, std::ranges::input_range Rows>
std::string table_text(const ReportColumns<Row>& columns, const Rows& rows) {
  TextTable table;
  add_columns(table, columns, rows);
  return table.text();
}

template <class Row>
Json json_object(const ReportColumns<Row>& columns, const Row& row) {
  Json object = Json::object();
  for (const ReportColumn<Row>& column : columns) {
    if (!column.is_in_files) continue;
    Json value = column.value(row);
    if (!value.is_discarded()) object[column.key] = std::move(value);
  }
  return object;
}

template <class Row, std::ranges::input_range Rows>
Json json_rows(const ReportColumns<Row>& columns, const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(json_object(columns, row));
  return list;
}

template <class Row>
std::string csv_heading(const ReportColumns<Row>& columns) {
  std::string line;
  for (const ReportColumn<Row>& column : columns)
    if (column.is_in_files) line += (line.empty() ? "" : ",") + column.key;
  return line;
}

template <class Row>
std::string csv_line(const ReportColumns<Row>& columns, const Row& row) {
  std::string line;
  const char* separator = "";
  for (const ReportColumn<Row>& column : columns) {
    if (!column.is_in_files) continue;
    line += separator + csv_cell(column.value(row));
    separator = ",";
  }
  return line;
}

template <class Row, std::ranges::input_range Rows>
std::string csv_text(const ReportColumns<Row>& columns, const Rows& rows) {
  std::string text = csv_heading(columns) + '\n';
  for (const Row& row : rows) text += csv_line(columns, row) + '\n';
  return text;
}

}  // namespace pipewright::analysis
