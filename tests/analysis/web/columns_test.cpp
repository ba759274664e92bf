#include "analysis/web/columns.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/analysis/web/table_decoding.hpp"

namespace pipewright::analysis {
namespace {

using Values = std::vector<std::int64_t>;

ColumnTable table_of(const TableSchema& schema, std::vector<std::size_t> groups,
                     std::vector<Values> columns) {
  ColumnTable table(schema, std::move(groups));
  table.columns = std::move(columns);
  return table;
}

// Returns the encoding of a table with one column and one group, without the first two bytes, which
// hold the counts.
std::string bytes_of(const Base& base, const Values& values) {
  const TableSchema schema{"t", {{"x", NumberType::f64, base}}};
  const std::vector<ColumnTable> tables{table_of(schema, {values.size()}, {values})};
  return encode(tables, 0).substr(2);
}

void check_round_trip(const std::vector<TableSchema>& schema,
                      const std::vector<ColumnTable>& tables) {
  std::map<std::string, std::string> bytes;
  for (std::size_t i = 0; i < tables.size(); ++i) bytes[schema[i].name] = encode(tables, i);
  const auto decoded = test::decode(schema_json(schema), bytes);
  for (const ColumnTable& table : tables) {
    const test::DecodedTable& read = decoded.at(table.schema->name);
    CHECK(read.first == table.first);
    for (const ColumnSchema& column : table.schema->columns) {
      CAPTURE(column.name);
      CHECK(read.columns.at(column.name) == table[column.name]);
    }
  }
}

}  // namespace

TEST_CASE("a table begins with its groups and the rows of each") {
  const TableSchema schema{"t", {}};
  const std::vector<ColumnTable> tables{ColumnTable(schema, {2, 0, 300})};
  CHECK(encode(tables, 0) == std::string("\x03\x02\x00\xac\x02", 5));
}

TEST_CASE("numbers are zigzag varints, the lowest bits first") {
  CHECK(bytes_of({}, {0, -1, 1, 63, -64}) == std::string("\x00\x01\x02\x7e\x7f", 5));
  CHECK(bytes_of({}, {64, 300}) == "\x80\x01\xd8\x04");
  CHECK(bytes_of({}, {std::int64_t{1} << 62}).size() == 10);
}

TEST_CASE("a column relative to the previous row is stored as differences") {
  CHECK(bytes_of(Base::before({"x"}), {5, 6, 7, 5}) == "\x0a\x02\x02\x03");
}

TEST_CASE("columns with any base can be decoded") {
  const std::vector<TableSchema> schema{
      {"passes",
       {{"kind", NumberType::u8, Base::before({"kind"})},
        {"length", NumberType::f64, {}},
        {"start", NumberType::f64, Base::before({"start", "length"})},
        {"end", NumberType::f64, Base::row({"start", "length"}), false},
        {"stage", NumberType::u32, Base::before({"stage"}, "kind")}}},
      {"moves",
       {{"pass", NumberType::i32, Base::before({"pass"})},
        {"posted", NumberType::f64, Base::at("pass", "passes", "end")},
        {"end", NumberType::f64,
         Base::nearest({Base::at("pass", "passes", "start"), Base::row({"posted"})})}}}};
  const auto large = std::int64_t{3} << 50;
  check_round_trip(schema, {table_of(schema[0], {3, 0, 2},
                                     {{0, 1, 0, 4, 4},
                                      {10, 20, 10, 1, large},
                                      {0, 12, 32, -5, 7},
                                      {10, 32, 42, -4, large + 7},
                                      {0, 7, 1, 9, 8}}),
                            table_of(schema[1], {4},
                                     {{-1, 0, 4, 2}, {3, 12, large, 42}, {5, 1, large + 1, 33}})});
}

TEST_CASE("the nearest base leaves the smallest difference") {
  const TableSchema schema{
      "t",
      {{"a", NumberType::f64, {}},
       {"b", NumberType::f64, {}},
       {"x", NumberType::f64, Base::nearest({Base::row({"a"}), Base::row({"b"})})}}};
  const std::vector<ColumnTable> tables{
      table_of(schema, {3}, {{0, 10, 20}, {9, 11, 0}, {10, 10, 19}})};
  const std::string bytes = encode(tables, 0);
  // The first three bytes say which of two columns is the base of each value, the last three encode
  // the difference to it: 10 is 1 more than b, 10 equals a, 19 is 1 less than a.
  CHECK(bytes.substr(bytes.size() - 6) == std::string("\x02\x00\x00\x02\x00\x01", 6));
}

TEST_CASE("a base that refers to a missing column is a logic error") {
  const TableSchema schema{"t", {{"x", NumberType::f64, Base::at("x", "nowhere", "y")}}};
  const std::vector<ColumnTable> tables{ColumnTable(schema, {1})};
  CHECK_THROWS_AS(encode(tables, 0), std::logic_error);
  CHECK_THROWS_AS(tables[0]["z"], std::logic_error);
}

}  // namespace pipewright::analysis
