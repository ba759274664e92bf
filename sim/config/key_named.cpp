#include "sim/config/key_named.hpp"

#include <algorithm>
#include <utility>

#include "sim/config/text/value.hpp"

namespace pipewright::config {
namespace {

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

std::string key_named(std::string_view name, std::vector<KeyRow> rows) {
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  std::ranges::stable_sort(rows, {}, [](const KeyRow& row) {
    return std::pair(std::ranges::count(row.name, '.'), row.info.flag.empty());
  });
  std::vector<std::string_view> names;
  for (const KeyRow& row : rows) names.push_back(last_part(row.name));
  const auto key_at = [&](auto it) {
    return rows[static_cast<std::size_t>(it - names.begin())].name;
  };
  if (const auto it = std::ranges::find(names, plain); it != names.end()) return key_at(it);
  for (const KeyRow& row : rows)
    if (!row.info.alias.empty() && row.info.alias == plain) return row.name;
  constexpr std::size_t shortest = 4;  // short names have too many neighbours
  const std::string_view nearest =
      plain.size() < shortest ? std::string_view() : nearest_name(plain, names);
  return nearest.empty() ? "" : key_at(std::ranges::find(names, nearest));
}

}  // namespace pipewright::config
