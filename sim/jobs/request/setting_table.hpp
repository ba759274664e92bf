#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/jobs/request/job.hpp"

namespace pipewright::jobs {

// True if the text means no: false, 0, no, none.
bool is_off(std::string_view text);

// Values of a setting with which a framework does what the model assumes.
inline constexpr std::string_view off = "off";  // false, none, 0 or an empty value
inline constexpr std::string_view on = "on";    // any other value, or a flag without a value

// Settings of a framework that no key of a scenario expresses, with the reason: a row of a table.
struct SettingRow {
  Changes changes = Changes::nothing;
  std::string_view reason;  // clause: what the settings are, or what they would change
  // Names with _ instead of -, separated by blanks. A name that ends with _ or . is a prefix.
  std::string_view names;
  // Values that change nothing although others do: `off`, `on`, or words separated by blanks, of
  // which `off` can be a part.
  std::string_view modelled = off;

  // Returns whether a setting with these values changes nothing.
  bool is_modelled(std::span<const std::string> values) const;
};

// Name of the setting that a flag turns off, as "x" for "no_x" and "disable_x", which Megatron-LM
// makes of settings that are on by default; empty for other names.
std::string_view negated_name(std::string_view name);

// Index of rows by the names of their settings. The rows outlive the index. If several rows have a
// name, the first one counts.
class SettingTable {
 public:
  SettingTable() = default;
  SettingTable(std::initializer_list<std::span<const SettingRow>> tables);

  // Returns the row of a setting; null if none has it. A whole name precedes a prefix, and a longer
  // prefix a shorter one. Dotted names that no row has are looked up by their last part.
  const SettingRow* find(std::string_view name) const;
  // The same by the whole name alone, or by a prefix of the name, such as a section.
  const SettingRow* find_path(std::string_view name) const;
  // Names of the table with their rows, in the order of their letters; prefixes with a * at the
  // end.
  std::vector<std::pair<std::string, const SettingRow*>> names() const;

 private:
  std::map<std::string_view, const SettingRow*, std::less<>> whole_;
  std::map<std::string_view, const SettingRow*, std::less<>> prefixes_;
};

}  // namespace pipewright::jobs
