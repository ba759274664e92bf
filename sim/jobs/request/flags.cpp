#include "sim/jobs/request/flags.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/scenario.hpp"
#include "sim/config/settings.hpp"

namespace pipewright::jobs {
namespace {

// Calls visit(framework_word, scenario_word) for each pair of Flag::words.
template <class Visit>
void for_each_pair(std::string_view words, const Visit& visit) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view pair = words.substr(0, end);
    const std::size_t equals = pair.find('=');
    visit(pair.substr(0, equals),
          equals == std::string_view::npos ? pair : pair.substr(equals + 1));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string choices_of(std::string_view words) {
  std::vector<std::string_view> names;
  for_each_pair(words, [&](std::string_view framework_word, std::string_view) {
    names.push_back(framework_word);
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

void read_row(const Flag& flag, const Setting& setting, Draft& draft) {
  const bool no = !setting.values.empty() && is_off(setting.values.front());
  switch (flag.form) {
    case Form::rule:
    case Form::accepted:
      return;
    case Form::alias:
    case Form::copy: {
      if (setting.values.empty()) throw refusal(setting, "expected one argument");
      check_has_value(setting, "a value");
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
      const std::string framework_word = draft.text(setting.name);
      const std::string scenario_word = word_for(flag.words, framework_word);
      if (scenario_word.empty())
        throw refusal(setting,
                      fmt::format("invalid choice: {} (choose from {})",
                                  config::in_quotes(framework_word), choices_of(flag.words)));
      return draft.set(flag.key, scenario_word, setting);
    }
  }
}

// Section of the model that a key belongs to and that not every model has, such as "model.experts";
// empty for other keys.
std::string_view part_of_model(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const std::string_view section = key.substr(0, dot == std::string_view::npos ? 0 : dot);
  return section.starts_with("model.") ? section : std::string_view();
}

// Calls each distinct function in a column of the table once, in the order of the rows.
template <class Rule, class Target>
void run_rules(std::span<const Flag> flags, Rule Flag::*column, Target& target) {
  std::vector<Rule> called;
  for (const Flag& flag : flags) {
    const Rule rule = flag.*column;
    if (rule == nullptr || std::ranges::find(called, rule) != called.end()) continue;
    called.push_back(rule);
    rule(target);
  }
}

// Setting that a row with a form other than `rule` gives for the scenario; empty if none is needed.
std::optional<Setting> setting_of(const Flag& flag, const config::Value& tree, bool arguments) {
  const std::string_view part = part_of_model(flag.key);
  if (!part.empty() && config::value_at(tree, part) == nullptr) return std::nullopt;
  const config::Value* const present = config::value_at(tree, flag.key);
  if (present != nullptr && present->kind == config::Value::Kind::map) return std::nullopt;
  const std::string value = present != nullptr ? present->text : default_of(flag.key);
  const std::string_view absent = arguments ? flag.absent : std::string_view();
  if (present == nullptr && (absent.empty() || is_default(flag.key, absent))) return std::nullopt;
  if (present != nullptr && !absent.empty() && value == absent) return std::nullopt;
  if (present != nullptr && absent.empty() && value == default_of(flag.key)) return std::nullopt;
  Setting setting{.name = std::string(flag.name)};
  switch (flag.form) {
    case Form::copy:
      if (value.empty()) return std::nullopt;
      setting.values.push_back(value);
      return setting;
    case Form::on:
      if (value != "true") setting.values.emplace_back("false");
      return setting;
    case Form::off:
      if (value != "false" && arguments) return std::nullopt;
      if (value != "false") setting.values.emplace_back("false");
      return setting;
    case Form::choice:
      if (const std::string word = word_of(flag.words, value); !word.empty()) {
        setting.values.push_back(word);
        return setting;
      }
      return std::nullopt;
    case Form::alias:
    case Form::accepted:
    case Form::rule:
      break;
  }
  return std::nullopt;
}

// Returns whether a job has a flag, or the model of the library that it names has its key.
bool has(std::span<const Flag> flags, std::string_view name, Draft& draft) {
  if (draft.find(name) != nullptr) return draft.on(name);
  const auto row = std::ranges::find(flags, name, &Flag::name);
  return row != flags.end() && row->key.starts_with("model.") && draft.known(row->key) != nullptr;
}

}  // namespace

void flatten(const config::Value& value, std::string_view form, const std::string& path,
             std::vector<Setting>& settings) {
  if (value.kind == config::Value::Kind::map) {
    for (const config::Entry& entry : value.entries)
      flatten(entry.value, form, path.empty() ? entry.key : path + "." + entry.key, settings);
    return;
  }
  Setting setting{.name = path, .origin = value.origin};
  if (value.kind == config::Value::Kind::text) setting.values = {value.text};
  for (const config::Value& item : value.items) setting.values.push_back(item.text);
  const std::string values = fmt::format("{}", fmt::join(setting.values, ", "));
  setting.written = fmt::format(fmt::runtime(form), path, values);
  settings.push_back(std::move(setting));
}

std::string word_for(std::string_view words, std::string_view framework_word) {
  std::string word;
  for_each_pair(words, [&](std::string_view a, std::string_view b) {
    if (word.empty() && a == framework_word) word = b;
  });
  return word;
}

std::string word_of(std::string_view words, std::string_view scenario_word) {
  std::string word;
  for_each_pair(words, [&](std::string_view a, std::string_view b) {
    if (word.empty() && b == scenario_word) word = a;
  });
  return word;
}

std::vector<std::string_view> names_of(std::span<const Flag> flags) {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  return names;
}

std::string default_of(std::string_view key) {
  const config::KeyRow* const row = config::scenario_key(key);
  return row == nullptr ? "" : std::string(row->info.default_value);
}

bool is_default(std::string_view key, std::string_view value) { return default_of(key) == value; }

void read_flags(std::span<const Flag> flags, Draft& draft, bool defaults) {
  for (const Flag& flag : flags) {
    if (flag.form == Form::rule) continue;
    const Setting* const setting = draft.find(flag.name);
    if (!flag.needs.empty() && !has(flags, flag.needs, draft)) {
      if (setting != nullptr)
        draft.without_effect(*setting, fmt::format("without {}", flag_of(flag.needs)));
      continue;
    }
    if (setting != nullptr)
      read_row(flag, *setting, draft);
    else if (defaults && !flag.absent.empty() && draft.known(flag.key) == nullptr &&
             !is_default(flag.key, flag.absent))
      draft.set_default(flag.key, std::string(flag.absent),
                        fmt::format("without {}", flag_of(flag.name)));
  }
  run_rules(flags, &Flag::read, draft);
}

void write_flags(std::span<const Flag> flags, const config::Value& tree, SettingsWriter& writer) {
  for (const Flag& flag : flags)
    if (std::optional<Setting> setting = setting_of(flag, tree, writer.writes_arguments()))
      writer.settings.push_back(std::move(*setting));
  write_rules(flags, writer);
}

void write_rules(std::span<const Flag> flags, SettingsWriter& writer) {
  run_rules(flags, &Flag::write, writer);
}

}  // namespace pipewright::jobs
