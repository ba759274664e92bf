#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// How a page keeps rows: tables of columns of whole numbers. What is stored of a value is what its
// base leaves of it, for gzip to find next to nothing in most columns. The page has the schema as
// JSON beside the bytes, by which columns.js decodes any table.
//
// The bytes of a table are varints: the number of groups (of devices, of links), the rows of each
// group, and the columns one after the other. A varint has 7 bits a byte, the lowest first, with
// the high bit set on all but the last; a signed value v is the varint of 2v or, if negative, of
// -2v - 1. Counts are unsigned, what bases leave is signed.
namespace pipewright::analysis {

// What is taken off a value: the sum of some columns in a row that whoever decodes has by then.
struct Base {
  enum class Kind : std::uint8_t {
    none,     // nothing is
    row,      // of the same row
    before,   // of the row before in the group, with `key` the last one of the same value there
    at,       // of a row of `table`: the one whose number `key` holds, nothing where that is < 0
    nearest,  // of the choices the one that leaves least; their numbers stand before the column
  };
  Kind kind = Kind::none;
  std::vector<std::string> columns;
  std::string key;
  std::string table;
  std::vector<Base> choices;

  static Base row(std::vector<std::string> columns);
  static Base before(std::vector<std::string> columns, std::string key = "");
  static Base at(std::string key, std::string table, std::string column);
  static Base nearest(std::vector<Base> choices);
};

enum class NumberType : std::uint8_t { u8, u32, i32, f64 };  // of JavaScript's typed arrays

struct ColumnSchema {
  std::string name;
  NumberType type = NumberType::f64;
  Base base;
  bool stored = true;  // without it the column is its base
};
struct TableSchema {
  std::string name;
  std::vector<ColumnSchema> columns;  // bases need none that comes later
};

struct ColumnTable {
  const TableSchema* schema = nullptr;
  std::vector<std::size_t> first;  // row of each group; one more than there are groups
  std::vector<std::vector<std::int64_t>> columns;  // in the order of the schema

  ColumnTable(const TableSchema& schema, const std::vector<std::size_t>& group_sizes);
  std::size_t rows() const { return first.back(); }
  std::size_t groups() const { return first.size() - 1; }
  std::vector<std::int64_t>& operator[](std::string_view name);
  const std::vector<std::int64_t>& operator[](std::string_view name) const;

  template <class Row, class Value>
  void set(std::string_view name, const std::vector<Row>& rows, Value&& value) {
    std::vector<std::int64_t>& column = (*this)[name];
    for (std::size_t i = 0; i < rows.size(); ++i) column[i] = std::int64_t{value(rows[i])};
  }
};

nlohmann::ordered_json schema_json(std::span<const TableSchema> tables);

// The bytes of tables[table], whose bases may refer to the tables before it.
std::string encode(std::span<const ColumnTable> tables, std::size_t table);

}  // namespace pipewright::analysis
