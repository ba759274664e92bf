#include "sim/config/key_named.hpp"

#include <algorithm>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config {
namespace {

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

std::string key_named(std::string_view name) {
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  std::vector<KeyRow> rows = scenario_keys();
  std::ranges::stable_sort(rows, {},
                           [](const KeyRow& row) { return std::ranges::count(row.name, '.'); });
  for (const KeyRow& row : rows)
    if (last_part(row.name) == plain || (!row.info.alias.empty() && row.info.alias == plain))
      return row.name;
  constexpr std::size_t shortest = 4;  // short names have too many neighbours
  if (plain.size() < shortest) return "";
  std::vector<std::string_view> names;
  for (const KeyRow& row : rows) names.push_back(last_part(row.name));
  const std::string_view nearest = nearest_name(plain, names);
  const auto row = std::ranges::find(names, nearest);
  return nearest.empty() || row == names.end()
             ? ""
             : rows[static_cast<std::size_t>(row - names.begin())].name;
}

}  // namespace pipewright::config
