#include "sim/jobs/request/setting_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace pipewright::jobs {
namespace {

// Calls visit(word) for each word of a text.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

bool is_off(std::string_view text) {
  constexpr std::array no{"false", "False", "FALSE", "0", "no", "none", "None", "null", "~", ""};
  return std::ranges::find(no, text) != no.end();
}

bool SettingRow::is_modelled(std::span<const std::string> values) const {
  if (changes == Changes::nothing) return true;
  const bool turns_off = !values.empty() && is_off(values.front());
  if (modelled == off) return turns_off;
  if (modelled == on) return !turns_off;
  bool matches = false;
  for_each_word(modelled, [&](std::string_view word) {
    matches |= word == off ? turns_off : !values.empty() && values.front() == word;
  });
  return matches;
}

std::string_view negated_name(std::string_view name) {
  for (const std::string_view prefix : {"no_", "disable_"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return {};
}

SettingTable::SettingTable(std::initializer_list<std::span<const SettingRow>> tables) {
  for (const std::span<const SettingRow> rows : tables)
    for (const SettingRow& row : rows)
      for_each_word(row.names, [&](std::string_view name) {
        (name.ends_with('_') || name.ends_with('.') ? prefixes_ : whole_).emplace(name, &row);
      });
}

const SettingRow* SettingTable::find_path(std::string_view name) const {
  if (const auto it = whole_.find(name); it != whole_.end()) return it->second;
  for (std::size_t size = name.size(); size > 0; --size)
    if (const auto it = prefixes_.find(name.substr(0, size)); it != prefixes_.end())
      return it->second;
  return nullptr;
}

const SettingRow* SettingTable::find(std::string_view name) const {
  const SettingRow* const row = find_path(name);
  const std::size_t dot = name.rfind('.');
  return row != nullptr || dot == std::string_view::npos ? row : find_path(name.substr(dot + 1));
}

std::vector<std::pair<std::string, const SettingRow*>> SettingTable::names() const {
  std::vector<std::pair<std::string, const SettingRow*>> names;
  for (const auto& [name, row] : whole_) names.emplace_back(name, row);
  for (const auto& [name, row] : prefixes_) names.emplace_back(fmt::format("{}*", name), row);
  std::ranges::sort(names, {}, [](const auto& entry) { return entry.first; });
  return names;
}

}  // namespace pipewright::jobs
