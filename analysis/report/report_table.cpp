#include "analysis/report/report_table.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

// Returns the number in a cell, or the upper end of a range; 0 for cells without numbers.
double magnitude(const Json& cell) {
  if (cell.is_number()) return cell.get<double>();
  return cell.is_array() ? cell.at(1).get<double>() : 0;
}

bool is_empty(const Json& cell, double negligible) {
  if (cell.is_string()) return cell.get_ref<const std::string&>().empty();
  return !(magnitude(cell) > negligible);
}

std::string plain_text(const Json& cell) {
  if (cell.is_string()) return printable(cell.get_ref<const std::string&>());
  if (cell.is_number_float()) return fmt::to_string(cell.get<double>());
  return cell.dump();
}

}  // namespace

Quantity Quantity::seconds(int digits) {
  return {.scale = [digits](double largest) { return time_scale(largest, digits); }};
}

Quantity Quantity::bytes() { return {.scale = memory_scale}; }

Quantity Quantity::rate() { return {.scale = rate_scale}; }

Quantity Quantity::percent(int decimals) {
  Quantity quantity = on({1, decimals, "%"});
  quantity.factor = 100;
  return quantity;
}

Quantity Quantity::on(ColumnScale scale) {
  return {.scale = [scale = std::move(scale)](double) { return scale; }};
}

Quantity Quantity::each_as(std::function<std::string(double)> format) {
  return {.format = std::move(format)};
}

void add_column(TextTable& table, const std::vector<std::string>& heading, const Quantity& quantity,
                const std::vector<Json>& cells, bool is_optional, const std::vector<bool>& marks) {
  if (is_optional && std::ranges::all_of(cells, [&](const Json& cell) {
        return is_empty(cell, quantity.negligible);
      }))
    return;
  double largest = 0;
  for (const Json& cell : cells) largest = std::max(largest, quantity.factor * magnitude(cell));
  const ColumnScale scale = quantity.scale ? quantity.scale(largest) : ColumnScale{};
  const auto number_text = [&](const Json& number) {
    if (!quantity.format && !quantity.scale) return plain_text(number);
    const double value = quantity.factor * number.get<double>();
    return quantity.format ? quantity.format(value) : scale(value);
  };
  const auto is_unknown = [&](const Json& cell) {
    return cell.is_null() || cell.is_discarded() || (quantity.zero_is_unknown && cell == 0);
  };
  const auto text_of = [&](const Json& cell) {
    if (is_unknown(cell)) return quantity.unknown;
    if (cell.is_number()) return number_text(cell);
    if (!cell.is_array()) return plain_text(cell);
    const std::string low = number_text(cell.at(0));
    const std::string high = number_text(cell.at(1));
    return low == high ? high : low + ".." + high;
  };
  std::vector<std::string> texts;
  texts.reserve(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_marked = i < marks.size() && marks[i] && !is_unknown(cells[i]);
    texts.push_back((is_marked ? std::string(assumed_mark) : "") + text_of(cells[i]));
  }
  if (quantity.is_name) {
    table.add_names(heading.front(), std::move(texts));
    return;
  }
  std::vector<std::string> head = heading;
  if (quantity.scale) head.push_back(scale.unit);
  table.add_numbers(std::move(head), std::move(texts));
}

std::string json_document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string json_line(const Json& json, Json::error_handler_t not_utf8) {
  return json.dump(-1, ' ', false, not_utf8);
}

Json parse_json(std::string_view text) { return Json::parse(text); }

std::string csv_cell(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return csv_field(cell.get_ref<const std::string&>());
  if (cell.is_number_float()) return fmt::to_string(cell.get<double>());
  return cell.dump();
}

void throw_no_column(std::string_view key) {
  throw std::logic_error(fmt::format("a report has no column '{}'", key));
}

}  // namespace pipewright::analysis
