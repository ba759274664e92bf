#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace pipewright::analysis::test {

// A table that decode() restores from the bytes of a page, as columns.js does.
// analysis/web/columns.hpp describes the encoding.
struct DecodedTable {
  std::vector<std::size_t> first;
  std::map<std::string, std::vector<std::int64_t>> columns;
};
using DecodedTables = std::map<std::string, DecodedTable>;
DecodedTables decode(const nlohmann::json& schema, const std::map<std::string, std::string>& bytes);

}  // namespace pipewright::analysis::test
