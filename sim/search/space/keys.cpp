#include "sim/search/space/keys.hpp"

#include <algorithm>

#include "sim/config/scenario.hpp"

namespace pipewright::search {
namespace {

bool is_open_as_whole(const config::KeyRow& row) {
  return row.value.type == config::ValueType::library ||
         row.value.type == config::ValueType::schedule;
}

const config::KeyRow* find_row(std::string_view name) {
  const auto row = std::ranges::find(scenario_rows(), name, &config::KeyRow::name);
  return row == scenario_rows().end() ? nullptr : &*row;
}

}  // namespace

const std::vector<config::KeyRow>& scenario_rows() {
  static const std::vector<config::KeyRow> rows = config::scenario_keys();
  return rows;
}

std::string canonical_key(std::string_view key) {
  if (key == "parallel.pipeline") return "parallel.pp";
  const std::size_t stem = key.rfind('.') + 1;  // 0 where there is no dot
  for (const config::KeyRow& row : scenario_rows()) {
    if (row.info.alias.empty()) continue;
    const std::string_view prefix(row.name.data(), row.name.size() - row.info.name.size());
    if (key.substr(0, stem) == prefix && key.substr(stem) == row.info.alias) return row.name;
  }
  return std::string(key);
}

bool is_key(std::string_view key) { return find_row(key) != nullptr; }

bool takes_list(std::string_view key) {
  const config::KeyRow* const row = find_row(key);
  return row != nullptr && row->value.list && !is_open_as_whole(*row);
}

bool is_whole(std::string_view key) {
  const config::KeyRow* const row = find_row(key);
  return row != nullptr && is_open_as_whole(*row);
}

bool is_in_whole(std::string_view key) {
  return key.find('.') != std::string_view::npos && is_whole(key.substr(0, key.find('.')));
}

}  // namespace pipewright::search
