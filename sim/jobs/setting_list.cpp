#include "sim/jobs/setting_list.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::string_view used = "used";

SettingUse use_by(std::string_view name, const SettingRow& row) {
  if (row.changes == Changes::nothing)
    return {std::string(name), "without effect", std::string(row.reason)};
  const std::string values = row.modelled == off  ? ""
                             : row.modelled == on ? ", unless it is on"
                                                  : fmt::format(", unless {}", row.modelled);
  return {std::string(name), "not modelled",
          fmt::format("{} ({}{})", row.reason, name_of(row.changes), values)};
}

// Key of the scenario that a flag sets.
SettingUse use_by(std::string_view name, const Flag& flag) {
  return {std::string(name), used, flag.key.empty() ? "read with others" : std::string(flag.key)};
}

const Flag* find_flag(const SettingNames& names, std::string_view name) {
  const auto flag = std::ranges::find(names.flags, name, &Flag::name);
  return flag == names.flags.end() ? nullptr : &*flag;
}

// Looks among flags and their other names.
const std::string_view* find_other(const SettingNames& names, std::string_view name) {
  const auto other =
      std::ranges::find(names.others, name, [](const auto& entry) { return entry.first; });
  return other == names.others.end() ? nullptr : &other->second;
}

// Use of a name that means a flag, or a key.
SettingUse use_by_other(const SettingNames& names, std::string_view name, std::string_view other) {
  if (const Flag* const flag = find_flag(names, other)) return use_by(name, *flag);
  for (const SettingTable* const table : names.unused)
    if (const SettingRow* const row = table->find(other)) return use_by(name, *row);
  return {std::string(name), used, std::string(other)};
}

}  // namespace

SettingUse use_of(const SettingNames& names, std::string_view word) {
  const std::string name = flag_name(word);
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  const SettingTable* const own = names.unused.size() > 1 ? names.unused.front() : nullptr;
  if (const auto* const other = find_other(names, name)) return use_by_other(names, name, *other);
  if (const Flag* const flag = find_flag(names, name)) return use_by(name, *flag);
  if (own != nullptr)
    if (const SettingRow* const row = own->find(name)) return use_by(name, *row);
  if (const auto* const other = find_other(names, last)) return use_by_other(names, name, *other);
  if (const Flag* const flag = find_flag(names, last)) return use_by(name, *flag);
  for (const SettingTable* const table : names.unused)
    if (const SettingRow* const row = table->find(name)) return use_by(name, *row);
  if (const std::string_view negated = negated_name(name); !negated.empty())
    for (const SettingTable* const table : names.unused)
      if (const SettingRow* const row = table->find(negated)) return use_by(name, *row);
  return {name, "unknown", ""};
}

std::vector<SettingUse> uses_of(const SettingNames& names) {
  std::vector<SettingUse> uses;
  const auto has = [&](std::string_view name) {
    return std::ranges::find(uses, name, &SettingUse::name) != uses.end();
  };
  for (const auto& [name, other] : names.others) uses.push_back(use_by_other(names, name, other));
  for (const Flag& flag : names.flags)
    if (!has(flag.name)) uses.push_back(use_by(flag.name, flag));
  for (const SettingTable* const table : names.unused)
    for (const auto& [name, row] : table->names())
      if (!has(name)) uses.push_back(use_by(name, *row));
  std::ranges::stable_sort(uses, {}, &SettingUse::name);
  return uses;
}

}  // namespace pipewright::jobs
