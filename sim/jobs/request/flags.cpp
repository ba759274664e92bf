#include "sim/jobs/request/flags.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/scenario.hpp"

namespace pipewright::jobs {
namespace {

// Calls `look` with both sides of each pair.
template <class Look>
void for_each_pair(std::string_view words, const Look& look) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view pair = words.substr(0, end);
    const std::size_t equals = pair.find('=');
    look(pair.substr(0, equals), equals == std::string_view::npos ? pair : pair.substr(equals + 1));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string names_of(std::string_view words) {
  std::vector<std::string_view> names;
  for_each_pair(words, [&](std::string_view theirs, std::string_view) { names.push_back(theirs); });
  return fmt::format("{}", fmt::join(names, ", "));
}

void read_one(const Flag& flag, const Setting& setting, Draft& draft) {
  const bool no = !setting.values.empty() && says_no(setting.values.front());
  switch (flag.form) {
    case Form::rule:
      return;
    case Form::alias:
    case Form::copy: {
      if (setting.values.empty()) throw refusal(setting, "expected one argument");
      const std::string& value = setting.values.front();
      if (value == "None" || value == "null" || value == "~") return;
      if (value.find_first_not_of("0.") == std::string::npos)
        return draft.set(flag.key, "0", setting);  // 0.0
      // Python writes 1_000_000.
      const bool grouped = value.find('_') != std::string::npos;
      return draft.set(flag.key, grouped ? fmt::format("{}", whole_number(setting)) : value,
                       setting);
    }
    case Form::on:
      return draft.set(flag.key, no ? "false" : "true", setting);
    case Form::off:
      return draft.set(flag.key, no ? "true" : "false", setting);
    case Form::choice: {
      const std::string theirs = draft.text(setting.name);
      const std::string ours = word_for(flag.words, theirs);
      if (ours.empty())
        throw refusal(setting, fmt::format("invalid choice: {} (choose from {})",
                                           config::in_quotes(theirs), names_of(flag.words)));
      return draft.set(flag.key, ours, setting);
    }
  }
}

// The section that a key stands in where a model need not have it: "model.experts".
std::string_view part_of_model(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const std::string_view section = key.substr(0, dot == std::string_view::npos ? 0 : dot);
  return section.starts_with("model.") ? section : std::string_view();
}

}  // namespace

void flatten(const config::Value& value, std::string_view form, const std::string& path,
             std::vector<Setting>& found) {
  if (value.kind == config::Value::Kind::map) {
    for (const config::Entry& entry : value.entries)
      flatten(entry.value, form, path.empty() ? entry.key : path + "." + entry.key, found);
    return;
  }
  Setting one{.name = path, .origin = value.origin};
  if (value.kind == config::Value::Kind::text) one.values = {value.text};
  for (const config::Value& item : value.items) one.values.push_back(item.text);
  const std::string values = fmt::format("{}", fmt::join(one.values, ", "));
  one.written = fmt::format(fmt::runtime(form), path, values);
  found.push_back(std::move(one));
}

std::string word_for(std::string_view words, std::string_view theirs) {
  std::string found;
  for_each_pair(words, [&](std::string_view a, std::string_view b) {
    if (found.empty() && a == theirs) found = b;
  });
  return found;
}

std::string word_of(std::string_view words, std::string_view ours) {
  std::string found;
  for_each_pair(words, [&](std::string_view a, std::string_view b) {
    if (found.empty() && b == ours) found = a;
  });
  return found;
}

std::string default_of(std::string_view key) {
  static const std::unordered_map<std::string, std::string> defaults = [] {
    std::unordered_map<std::string, std::string> all;
    for (const config::KeyRow& row : config::scenario_keys())
      all.emplace(row.name, std::string(row.info.default_value));
    return all;
  }();
  const auto found = defaults.find(std::string(key));
  return found == defaults.end() ? "" : found->second;
}

bool is_default(std::string_view key, std::string_view value) { return default_of(key) == value; }

void read_flags(std::span<const Flag> flags, Draft& draft, bool defaults) {
  for (const Flag& flag : flags) {
    if (flag.form == Form::rule) continue;
    const Setting* const setting = draft.find(flag.name);
    if (!flag.needs.empty() && !draft.on(flag.needs)) {
      if (setting != nullptr) draft.without_effect(*setting);
      continue;
    }
    if (setting != nullptr)
      read_one(flag, *setting, draft);
    else if (defaults && !flag.absent.empty() && draft.at(flag.key) == nullptr &&
             !is_default(flag.key, flag.absent))
      draft.set(flag.key, std::string(flag.absent), fmt::format("without {}", flag_of(flag.name)));
  }
}

std::vector<Setting> write_flags(std::span<const Flag> flags, const config::Value& tree,
                                 bool arguments) {
  std::vector<Setting> settings;
  for (const Flag& flag : flags) {
    if (flag.form == Form::rule || flag.form == Form::alias) continue;
    const std::string_view part = part_of_model(flag.key);
    if (!part.empty() && value_at(tree, part) == nullptr) continue;
    const config::Value* const given = value_at(tree, flag.key);
    if (given != nullptr && given->kind == config::Value::Kind::map) continue;
    const std::string value = given != nullptr ? given->text : default_of(flag.key);
    const std::string_view absent = arguments ? flag.absent : std::string_view();
    if (given == nullptr && (absent.empty() || is_default(flag.key, absent))) continue;
    if (given != nullptr && !absent.empty() && value == absent) continue;
    if (given != nullptr && absent.empty() && value == default_of(flag.key)) continue;
    Setting setting{.name = std::string(flag.name)};
    switch (flag.form) {
      case Form::copy:
        if (value.empty()) continue;
        setting.values.push_back(value);
        break;
      case Form::on:
        if (value != "true") setting.values.emplace_back("false");
        break;
      case Form::off:
        if (value != "false" && arguments) continue;
        if (value != "false") setting.values.emplace_back("false");
        break;
      default:
        if (const std::string word = word_of(flag.words, value); !word.empty())
          setting.values.push_back(word);
        else
          continue;
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace pipewright::jobs
