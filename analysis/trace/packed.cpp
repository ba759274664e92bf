#include "analysis/trace/packed.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/evidence_json.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::trace {
namespace {

constexpr std::size_t table_alignment = 64;  // Alignment of tables, in bytes.

std::size_t align_up(std::size_t offset, std::size_t multiple) {
  return (offset + multiple - 1) / multiple * multiple;
}

template <class Visit>
void for_each_table(const Visit& visit) {
  visit(&Trace::devices);
  visit(&Trace::stages);
  visit(&Trace::pass_collectives);
  visit(&Trace::passes);
  visit(&Trace::transfers);
  visit(&Trace::memory);
  visit(&Trace::collectives);
  visit(&Trace::steps);
  visit(&Trace::waits);
  visit(&Trace::links);
  visit(&Trace::link_use);
  visit(&Trace::paths);
}

template <class Row>
constexpr bool has_text = [] {
  for (const Column& column : Table<Row>::columns)
    if (column.type == ColumnType::text) return true;
  return false;
}();

template <class Row>
char* bytes_of(Row& row, const Column& column) {
  return reinterpret_cast<char*>(&row) + column.offset;
}
template <class Row>
const char* bytes_of(const Row& row, const Column& column) {
  return reinterpret_cast<const char*>(&row) + column.offset;
}
template <class Row>
const std::string& row_text(const Row& row, const Column& column) {
  return *reinterpret_cast<const std::string*>(bytes_of(row, column));
}
template <class Row>
std::size_t max_text_length(const std::vector<Row>& rows, const Column& column) {
  std::size_t max_length = 1;
  for (const Row& row : rows) max_length = std::max(max_length, row_text(row, column).size());
  return max_length;
}

std::string numpy_type(const Column& column, std::size_t bytes) {
  if (column.type == ColumnType::text) return fmt::format("S{}", bytes);
  if (column.type == ColumnType::f64) return "<f8";
  return fmt::format("{}u{}", bytes == 1 ? "|" : "<", bytes);
}

// Returns, as JSON, the name, type and offset of each column in the rows of a table; sets the size
// of a row.
template <class Row>
Json describe_columns(const std::vector<Row>& rows, std::size_t& row_bytes) {
  Json columns = Json::array();
  row_bytes = 0;
  for (const Column& column : Table<Row>::columns) {
    const bool is_text = column.type == ColumnType::text;
    std::size_t bytes = width(column.type);
    if constexpr (has_text<Row>)
      if (is_text) bytes = max_text_length(rows, column);
    const std::size_t offset =
        has_text<Row> ? align_up(row_bytes, is_text ? 1 : bytes) : column.offset;
    row_bytes = offset + bytes;
    Json entry{{"name", column.name}, {"type", numpy_type(column, bytes)}, {"at", offset}};
    if (const auto names = enum_names(column.type); !names.empty())
      entry["names"] = std::vector<std::string>(names.begin(), names.end());
    columns.push_back(std::move(entry));
  }
  row_bytes = has_text<Row> ? align_up(row_bytes, 8) : sizeof(Row);
  return columns;
}

Json run_info_json(const RunInfo& run) {
  Json info;
  for (const auto& field : text_fields) info[field.name] = run.*field.member;
  for (const auto& field : count_fields) info[field.name] = run.*field.member;
  for (const auto& field : real_fields) info[field.name] = run.*field.member;
  add_evidence(info, run.evidence);
  return info;
}

RunInfo read_run_info(const Json& info) {
  RunInfo run;
  for (const auto& field : text_fields) info.at(field.name).get_to(run.*field.member);
  for (const auto& field : count_fields)
    if (!field.is_optional || info.contains(field.name))
      info.at(field.name).get_to(run.*field.member);
  for (const auto& field : real_fields) info.at(field.name).get_to(run.*field.member);
  run.evidence = read_evidence(info);
  return run;
}

// Offset and size of a column, in bytes, within a row of the block.
struct ColumnPlace {
  std::size_t offset;
  std::size_t bytes;
};
std::vector<ColumnPlace> column_places(const Json& columns, std::span<const Column> expected,
                                       std::size_t row_bytes) {
  std::vector<ColumnPlace> places;
  for (const Column& column : expected) {
    const Json& entry = columns.at(places.size());
    const std::string type = entry.at("type");
    const bool is_text = column.type == ColumnType::text;
    const std::size_t bytes = is_text ? std::stoul(type.substr(1)) : width(column.type);
    places.push_back({entry.at("at").get<std::size_t>(), bytes});
    if (entry.at("name") != column.name || type != numpy_type(column, bytes) ||
        places.back().offset + bytes > row_bytes)
      throw TraceError(
          fmt::format("a trace in memory has an unexpected column in place of {}", column.name));
  }
  return places;
}

std::span<const char> block_part(std::span<const char> block, const Json& entry,
                                 std::size_t bytes) {
  const auto offset = entry.at("at").get<std::size_t>();
  if (offset > block.size() || bytes > block.size() - offset)
    throw TraceError("a trace in memory is shorter than its tables");
  return block.subspan(offset, bytes);
}

}  // namespace

Json packing(const Trace& trace) {
  std::size_t end = trace.run.cluster.size();
  Json tables;
  for_each_table([&](auto member) {
    const auto& rows = trace.*member;
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    std::size_t row_bytes = 0;
    Json columns = describe_columns(rows, row_bytes);
    end = align_up(end, table_alignment);
    tables[Table<Row>::name] = {{"at", end},
                                {"rows", rows.size()},
                                {"row_bytes", row_bytes},
                                {"columns", std::move(columns)}};
    end += rows.size() * row_bytes;
  });
  return {{"bytes", end},
          {"info", run_info_json(trace.run)},
          {"cluster", {{"at", 0}, {"bytes", trace.run.cluster.size()}}},
          {"tables", std::move(tables)}};
}

void pack(const Trace& trace, const Json& packing, std::span<char> block) {
  std::ranges::copy(trace.run.cluster, block.data());
  for_each_table([&](auto member) {
    const auto& rows = trace.*member;
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    if (rows.empty()) return;
    const Json& entry = packing.at("tables").at(Table<Row>::name);
    char* target = block.data() + entry.at("at").get<std::size_t>();
    if constexpr (!has_text<Row>) {
      std::memcpy(target, rows.data(), rows.size() * sizeof(Row));
    } else {
      const auto row_bytes = entry.at("row_bytes").get<std::size_t>();
      const auto places = column_places(entry.at("columns"),
                                        std::span<const Column>(Table<Row>::columns), row_bytes);
      for (const Row& row : rows) {
        for (std::size_t i = 0; i < places.size(); ++i) {
          const Column& column = Table<Row>::columns[i];
          if (column.type == ColumnType::text)
            std::ranges::copy(row_text(row, column), target + places[i].offset);
          else
            std::memcpy(target + places[i].offset, bytes_of(row, column), places[i].bytes);
        }
        target += row_bytes;
      }
    }
  });
}

Trace unpack(const Json& packing, std::span<const char> block) try {
  Trace trace;
  trace.run = read_run_info(packing.at("info"));
  const auto cluster = block_part(block, packing.at("cluster"),
                                  packing.at("cluster").at("bytes").get<std::size_t>());
  trace.run.cluster.assign(cluster.begin(), cluster.end());
  for_each_table([&](auto member) {
    auto& rows = trace.*member;
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    const Json& entry = packing.at("tables").at(Table<Row>::name);
    const auto row_bytes = entry.at("row_bytes").get<std::size_t>();
    const auto count = entry.at("rows").get<std::size_t>();
    const auto row_data = block_part(block, entry, count * row_bytes);
    const auto places =
        column_places(entry.at("columns"), std::span<const Column>(Table<Row>::columns), row_bytes);
    rows.resize(count);
    for (std::size_t r = 0; r < count; ++r) {
      const char* const bytes = row_data.data() + r * row_bytes;
      for (std::size_t i = 0; i < places.size(); ++i) {
        const Column& column = Table<Row>::columns[i];
        char* const target = bytes_of(rows[r], column);
        if (column.type == ColumnType::text)
          reinterpret_cast<std::string*>(target)->assign(
              bytes + places[i].offset, strnlen(bytes + places[i].offset, places[i].bytes));
        else
          std::memcpy(target, bytes + places[i].offset, places[i].bytes);
      }
    }
  });
  return trace;
} catch (const Json::exception& error) {
  throw TraceError(fmt::format("a trace in memory has an invalid description: {}", error.what()));
}

}  // namespace pipewright::trace
