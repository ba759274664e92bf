#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Compact encoding of a page's rows as tables of integer columns. Each value is stored as its
// difference to a base, a prediction from earlier data, so that most columns compress to almost
// nothing. The page also holds the schema as JSON, with which columns.js decodes any table.
//
// The bytes of a table are varints: the number of groups (one per device or link), the number of
// rows of each group, and the columns one after another. A varint has 7 bits per byte, lowest bits
// first, with the high bit set on every byte but the last. A signed value v is the varint of 2v or,
// if negative, of -2v - 1. Counts are unsigned; differences to bases are signed.
namespace pipewright::analysis {

// The base of a value is the sum of some columns in one row that the decoder has already read. This
// describes which row and which columns.
struct Base {
  enum class Kind : std::uint8_t {
    none,     // zero
    row,      // columns of the same row
    before,   // columns of the previous row in the group, or of the previous one with equal `key`
    at,       // a column of the row of `table` whose number is in `key`; zero for numbers below 0
    nearest,  // the choice closest to the value; the numbers of the choices precede the column
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

enum class NumberType : std::uint8_t { u8, u32, i32, f64 };  // element type in JavaScript

struct ColumnSchema {
  std::string name;
  NumberType type = NumberType::f64;
  Base base;
  bool stored = true;  // false: the column equals its base and is not stored
};
struct TableSchema {
  std::string name;
  std::vector<ColumnSchema> columns;  // bases refer only to earlier columns
};

struct ColumnTable {
  const TableSchema* schema = nullptr;
  std::vector<std::size_t> first;  // first row of each group, and the number of rows
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

// Encodes tables[table] as bytes. Its bases may refer to the tables before it.
std::string encode(std::span<const ColumnTable> tables, std::size_t table);

}  // namespace pipewright::analysis
