#include "analysis/trace/packed.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::trace {
namespace {

constexpr std::size_t alignment = 64;  // of tables

std::size_t aligned(std::size_t at, std::size_t to) { return (at + to - 1) / to * to; }

template <class Visit>
void each_table(const Visit& visit) {
  visit(&Trace::devices);
  visit(&Trace::stages);
  visit(&Trace::pass_collectives);
  visit(&Trace::passes);
  visit(&Trace::transfers);
  visit(&Trace::memory);
  visit(&Trace::collectives);
  visit(&Trace::steps);
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
const std::string& text_at(const Row& row, const Column& column) {
  return *reinterpret_cast<const std::string*>(bytes_of(row, column));
}
template <class Row>
std::size_t longest_text(const std::vector<Row>& rows, const Column& column) {
  std::size_t longest = 1;
  for (const Row& row : rows) longest = std::max(longest, text_at(row, column).size());
  return longest;
}

std::string numpy_type(const Column& column, std::size_t bytes) {
  if (column.type == ColumnType::text) return fmt::format("S{}", bytes);
  if (column.type == ColumnType::f64) return "<f8";
  return fmt::format("{}u{}", bytes == 1 ? "|" : "<", bytes);
}

// Where the columns of a table stand within its rows.
template <class Row>
Json columns_of(const std::vector<Row>& rows, std::size_t& row_bytes) {
  Json columns = Json::array();
  row_bytes = 0;
  for (const Column& column : Table<Row>::columns) {
    const bool is_text = column.type == ColumnType::text;
    std::size_t bytes = width(column.type);
    if constexpr (has_text<Row>)
      if (is_text) bytes = longest_text(rows, column);
    const std::size_t at = has_text<Row> ? aligned(row_bytes, is_text ? 1 : bytes) : column.offset;
    row_bytes = at + bytes;
    Json described{{"name", column.name}, {"type", numpy_type(column, bytes)}, {"at", at}};
    if (const auto names = enum_names(column.type); !names.empty())
      described["names"] = std::vector<std::string>(names.begin(), names.end());
    columns.push_back(std::move(described));
  }
  row_bytes = has_text<Row> ? aligned(row_bytes, 8) : sizeof(Row);
  return columns;
}

Json info_of(const RunInfo& run) {
  Json info;
  for (const auto& field : text_fields) info[field.name] = run.*field.member;
  for (const auto& field : count_fields) info[field.name] = run.*field.member;
  for (const auto& field : real_fields) info[field.name] = run.*field.member;
  info[assumed_field] = run.assumed.keys;
  info[assumed_gpu_field] = run.assumed.gpu;
  return info;
}

RunInfo read_info(const Json& info) {
  RunInfo run;
  for (const auto& field : text_fields) info.at(field.name).get_to(run.*field.member);
  for (const auto& field : count_fields)
    if (!field.may_lack || info.contains(field.name)) info.at(field.name).get_to(run.*field.member);
  for (const auto& field : real_fields) info.at(field.name).get_to(run.*field.member);
  info.at(assumed_field).get_to(run.assumed.keys);
  info.at(assumed_gpu_field).get_to(run.assumed.gpu);
  return run;
}

// Where a column stands in the rows of a block, and what it takes there.
struct Place {
  std::size_t at;
  std::size_t bytes;
};
std::vector<Place> places_of(const Json& columns, std::span<const Column> expected,
                             std::size_t row_bytes) {
  std::vector<Place> places;
  for (const Column& column : expected) {
    const Json& described = columns.at(places.size());
    const std::string type = described.at("type");
    const bool is_text = column.type == ColumnType::text;
    const std::size_t bytes = is_text ? std::stoul(type.substr(1)) : width(column.type);
    places.push_back({described.at("at").get<std::size_t>(), bytes});
    if (described.at("name") != column.name || type != numpy_type(column, bytes) ||
        places.back().at + bytes > row_bytes)
      throw TraceError(fmt::format("a trace in memory has another column than {}", column.name));
  }
  return places;
}

std::span<const char> part(std::span<const char> block, const Json& described, std::size_t bytes) {
  const auto at = described.at("at").get<std::size_t>();
  if (at > block.size() || bytes > block.size() - at)
    throw TraceError("a trace in memory ends before its tables do");
  return block.subspan(at, bytes);
}

}  // namespace

Json packing(const Trace& trace) {
  std::size_t end = trace.run.cluster.size();
  Json tables;
  each_table([&](auto member) {
    const auto& rows = trace.*member;
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    std::size_t row_bytes = 0;
    Json columns = columns_of(rows, row_bytes);
    end = aligned(end, alignment);
    tables[Table<Row>::name] = {{"at", end},
                                {"rows", rows.size()},
                                {"row_bytes", row_bytes},
                                {"columns", std::move(columns)}};
    end += rows.size() * row_bytes;
  });
  return {{"bytes", end},
          {"info", info_of(trace.run)},
          {"cluster", {{"at", 0}, {"bytes", trace.run.cluster.size()}}},
          {"tables", std::move(tables)}};
}

void pack(const Trace& trace, const Json& packing, std::span<char> block) {
  std::ranges::copy(trace.run.cluster, block.data());
  each_table([&](auto member) {
    const auto& rows = trace.*member;
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    if (rows.empty()) return;
    const Json& described = packing.at("tables").at(Table<Row>::name);
    char* into = block.data() + described.at("at").get<std::size_t>();
    if constexpr (!has_text<Row>) {
      std::memcpy(into, rows.data(), rows.size() * sizeof(Row));
    } else {
      const auto row_bytes = described.at("row_bytes").get<std::size_t>();
      const auto places = places_of(described.at("columns"),
                                    std::span<const Column>(Table<Row>::columns), row_bytes);
      for (const Row& row : rows) {
        for (std::size_t i = 0; i < places.size(); ++i) {
          const Column& column = Table<Row>::columns[i];
          if (column.type == ColumnType::text)
            std::ranges::copy(text_at(row, column), into + places[i].at);
          else
            std::memcpy(into + places[i].at, bytes_of(row, column), places[i].bytes);
        }
        into += row_bytes;
      }
    }
  });
}

Trace unpack(const Json& packing, std::span<const char> block) try {
  Trace trace;
  trace.run = read_info(packing.at("info"));
  const auto cluster =
      part(block, packing.at("cluster"), packing.at("cluster").at("bytes").get<std::size_t>());
  trace.run.cluster.assign(cluster.begin(), cluster.end());
  each_table([&](auto member) {
    auto& rows = trace.*member;
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    const Json& described = packing.at("tables").at(Table<Row>::name);
    const auto row_bytes = described.at("row_bytes").get<std::size_t>();
    const auto count = described.at("rows").get<std::size_t>();
    const auto from = part(block, described, count * row_bytes);
    const auto places =
        places_of(described.at("columns"), std::span<const Column>(Table<Row>::columns), row_bytes);
    rows.resize(count);
    for (std::size_t r = 0; r < count; ++r) {
      const char* const bytes = from.data() + r * row_bytes;
      for (std::size_t i = 0; i < places.size(); ++i) {
        const Column& column = Table<Row>::columns[i];
        char* const into = bytes_of(rows[r], column);
        if (column.type == ColumnType::text)
          reinterpret_cast<std::string*>(into)->assign(
              bytes + places[i].at, strnlen(bytes + places[i].at, places[i].bytes));
        else
          std::memcpy(into, bytes + places[i].at, places[i].bytes);
      }
    }
  });
  return trace;
} catch (const Json::exception& fault) {
  throw TraceError(fmt::format("a trace in memory is described otherwise: {}", fault.what()));
}

}  // namespace pipewright::trace
