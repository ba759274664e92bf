#include "tests/analysis/web/table_decoding.hpp"

#include <stdexcept>
#include <string_view>

namespace pipewright::analysis::test {
namespace {

using nlohmann::json;

class VarintReader {
 public:
  explicit VarintReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t count() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::int64_t number() {
    const std::uint64_t twice = count();
    const auto half = static_cast<std::int64_t>(twice / 2);
    return twice % 2 == 0 ? half : -half - 1;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// Returns the number to which the stored difference of row `i` is added, in a group of rows that
// begins at `begin`. Unlike columns.js, this decodes one row at a time.
std::int64_t base_of(const json& base, const DecodedTables& tables, const DecodedTable& table,
                     std::size_t begin, std::size_t i) {
  std::int64_t sum = 0;
  for (const std::string name : base.value("columns", json::array())) {
    if (base["kind"] == "row") sum += table.columns.at(name)[i];
    if (base["kind"] == "at") {
      const std::int64_t row = table.columns.at(base["key"])[i];
      const auto& other = tables.at(base["table"]).columns.at(name);
      if (row >= 0) sum += other.at(static_cast<std::size_t>(row));
    }
    if (base["kind"] == "before") {
      const auto is_alike = [&](std::size_t j) {
        if (!base.contains("key")) return true;
        const auto& key = table.columns.at(base["key"]);
        return key[i] == key[j];
      };
      std::size_t j = i;
      while (j > begin && !is_alike(j - 1)) --j;
      if (j > begin) sum += table.columns.at(name)[j - 1];
    }
  }
  return sum;
}

DecodedTable decode_table(const json& columns, std::string_view bytes,
                          const DecodedTables& tables) {
  VarintReader reader(bytes);
  DecodedTable table;
  table.first = {0};
  const std::uint64_t groups = reader.count();
  for (std::uint64_t group = 0; group < groups; ++group)
    table.first.push_back(table.first.back() + reader.count());
  const std::size_t rows = table.first.back();
  for (const json& column : columns) {
    const json& base = column["base"];
    std::vector<std::int64_t> chosen;
    if (base["kind"] == "nearest")
      for (std::size_t i = 0; i < rows; ++i) chosen.push_back(reader.number());
    auto& values = table.columns[column["name"]];
    values.resize(rows);
    if (column["stored"])
      for (std::int64_t& value : values) value = reader.number();
    for (std::size_t group = 0; group < groups; ++group)
      for (std::size_t i = table.first[group]; i < table.first[group + 1]; ++i) {
        const json& one = chosen.empty() ? base : base["choices"].at(std::size_t(chosen[i]));
        values[i] += base_of(one, tables, table, table.first[group], i);
      }
  }
  if (!reader.at_end()) throw std::runtime_error("more bytes than rows");
  return table;
}

}  // namespace

DecodedTables decode(const json& schema, const std::map<std::string, std::string>& bytes) {
  DecodedTables tables;
  for (const json& table : schema)
    tables[table["name"]] = decode_table(table["columns"], bytes.at(table["name"]), tables);
  return tables;
}

}  // namespace pipewright::analysis::test
