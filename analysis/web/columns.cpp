#include "analysis/web/columns.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;
using Numbers = std::vector<std::int64_t>;

void put(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void put_signed(std::string& bytes, std::int64_t value) {
  const auto twice = static_cast<std::uint64_t>(value) << 1;
  put(bytes, value < 0 ? ~twice : twice);
}

Json base_json(const Base& base) {
  constexpr std::array kinds{"none", "row", "before", "at", "nearest"};
  Json json{{"kind", kinds.at(static_cast<std::size_t>(base.kind))}};
  if (!base.columns.empty()) json["columns"] = base.columns;
  if (!base.key.empty()) json["key"] = base.key;
  if (!base.table.empty()) json["table"] = base.table;
  for (const Base& choice : base.choices) json["choices"].push_back(base_json(choice));
  return json;
}

// Adds to the base of each row the value that column `source` has in the previous row of the same
// group, or, with `key`, in the previous row of the group whose key is equal.
void add_before(const ColumnTable& table, const Numbers& source, const Numbers* key,
                Numbers& sums) {
  constexpr std::size_t keys = 256;  // keys are bytes
  for (std::size_t group = 0; group < table.groups(); ++group) {
    std::array<std::int64_t, keys> last{};
    for (std::size_t i = table.first[group]; i < table.first[group + 1]; ++i)
      sums[i] += std::exchange(last.at(key == nullptr ? 0 : static_cast<std::size_t>((*key)[i])),
                               source[i]);
  }
}

// Computes the base of a column's value in each row; bases of kind `nearest` are computed
// elsewhere.
Numbers base_of(std::span<const ColumnTable> tables, const ColumnTable& table, const Base& base) {
  Numbers sums(table.rows());
  for (const std::string& name : base.columns) switch (base.kind) {
      case Base::Kind::row: {
        const Numbers& source = table[name];
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += source[i];
        break;
      }
      case Base::Kind::before:
        add_before(table, table[name], base.key.empty() ? nullptr : &table[base.key], sums);
        break;
      case Base::Kind::at: {
        const auto target = std::ranges::find(
            tables, base.table, [](const ColumnTable& earlier) { return earlier.schema->name; });
        if (target == tables.end()) throw std::logic_error(fmt::format("no table {}", base.table));
        const Numbers& source = (*target)[name];
        const Numbers& rows = table[base.key];
        for (std::size_t i = 0; i < sums.size(); ++i)
          if (rows[i] >= 0) sums[i] += source.at(static_cast<std::size_t>(rows[i]));
        break;
      }
      case Base::Kind::none:
      case Base::Kind::nearest:
        break;
    }
  return sums;
}

// Returns for each row the candidate base closest to its value, the first one if several are
// equally close. `chosen` receives the index of the candidate in base.choices.
Numbers nearest_base(std::span<const ColumnTable> tables, const ColumnTable& table,
                     const Base& base, const Numbers& values, Numbers& chosen) {
  Numbers nearest = base_of(tables, table, base.choices.front());
  for (std::size_t k = 1; k < base.choices.size(); ++k) {
    const Numbers choice = base_of(tables, table, base.choices[k]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i] - choice[i]) >= std::abs(values[i] - nearest[i])) continue;
      nearest[i] = choice[i];
      chosen[i] = static_cast<std::int64_t>(k);
    }
  }
  return nearest;
}

void put_column(std::string& bytes, const Numbers& values, const Numbers& base) {
  for (std::size_t i = 0; i < values.size(); ++i) put_signed(bytes, values[i] - base[i]);
}

}  // namespace

Base Base::row(std::vector<std::string> columns) {
  return {Kind::row, std::move(columns), "", "", {}};
}

Base Base::before(std::vector<std::string> columns, std::string key) {
  return {Kind::before, std::move(columns), std::move(key), "", {}};
}

Base Base::at(std::string key, std::string table, std::string column) {
  return {Kind::at, {std::move(column)}, std::move(key), std::move(table), {}};
}

Base Base::nearest(std::vector<Base> choices) {
  return {Kind::nearest, {}, "", "", std::move(choices)};
}

ColumnTable::ColumnTable(const TableSchema& table, const std::vector<std::size_t>& group_sizes)
    : schema(&table), first{0}, columns(table.columns.size()) {
  for (const std::size_t rows : group_sizes) first.push_back(first.back() + rows);
  for (Numbers& column : columns) column.resize(first.back());
}

const Numbers& ColumnTable::operator[](std::string_view name) const {
  const auto column = std::ranges::find(schema->columns, name, &ColumnSchema::name);
  if (column == schema->columns.end())
    throw std::logic_error(fmt::format("no column {} in {}", name, schema->name));
  return columns[static_cast<std::size_t>(column - schema->columns.begin())];
}

Numbers& ColumnTable::operator[](std::string_view name) {
  return const_cast<Numbers&>(std::as_const(*this)[name]);
}

Json schema_json(std::span<const TableSchema> tables) {
  constexpr std::array types{"Uint8Array", "Uint32Array", "Int32Array", "Float64Array"};
  Json json = Json::array();
  for (const TableSchema& table : tables) {
    Json columns = Json::array();
    for (const ColumnSchema& column : table.columns)
      columns.push_back({{"name", column.name},
                         {"type", types.at(static_cast<std::size_t>(column.type))},
                         {"base", base_json(column.base)},
                         {"stored", column.stored}});
    json.push_back({{"name", table.name}, {"columns", std::move(columns)}});
  }
  return json;
}

std::string encode(std::span<const ColumnTable> tables, std::size_t number) {
  const ColumnTable& table = tables[number];
  const std::span<const ColumnTable> earlier_tables = tables.first(number);
  std::string bytes;
  put(bytes, table.groups());
  for (std::size_t group = 0; group < table.groups(); ++group)
    put(bytes, table.first[group + 1] - table.first[group]);
  for (const auto& [name, type, base, stored] : table.schema->columns) {
    if (!stored) continue;
    if (base.kind != Base::Kind::nearest) {
      put_column(bytes, table[name], base_of(earlier_tables, table, base));
      continue;
    }
    Numbers chosen(table.rows());
    const Numbers nearest = nearest_base(earlier_tables, table, base, table[name], chosen);
    put_column(bytes, chosen, Numbers(table.rows()));
    put_column(bytes, table[name], nearest);
  }
  return bytes;
}

}  // namespace pipewright::analysis
