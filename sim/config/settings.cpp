#include "sim/config/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::config {
namespace {

using Texts = std::map<std::string, std::string>;

// Keys and sections that are no settings of a job. The stack's values for other keys of a scenario
// are those keys' settings.
constexpr std::array<std::string_view, 12> no_settings{
    "iterations",     "model.source",    "gpu.source",          "gpu.assumed",
    "gpu.derived",    "stack.help",      "stack.source",        "stack.assumed",
    "stack.training", "stack.partition", "stack.communication", "model.parameters"};

bool is_within(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

bool has_section(const Texts& texts, std::string_view section) {
  return std::ranges::any_of(texts,
                             [&](const auto& text) { return is_within(text.first, section); });
}

std::string own_name_of(std::string_view section) { return fmt::format("{}.name", section); }

std::string default_text(std::string_view key) {
  const KeyRow* const row = scenario_key(key);
  return row == nullptr ? "" : std::string(row->info.default_value);
}

// Returns the texts of a scenario's keys. The name of the schedule always has the key
// schedule.name. Maps of models, GPUs and stacks without a name get a name.
Texts texts_of(Value tree) {
  use_own_names(tree);
  if (const Value* const stack = find(tree, "stack")) tree = with_stack_defaults(tree, *stack);
  Texts texts = texts_by_key(tree, "");
  std::erase_if(texts, [](const auto& text) {
    return std::ranges::any_of(
        no_settings, [&](std::string_view section) { return is_within(text.first, section); });
  });
  if (auto schedule = texts.extract("schedule")) {
    schedule.key() = own_name_of("schedule");
    texts.insert(std::move(schedule));
  } else if (!has_section(texts, "schedule")) {
    texts[own_name_of("schedule")] = default_text("schedule");
  }
  for (const std::string_view section : {"model", "gpu", "stack"})
    if (has_section(texts, section))
      texts.try_emplace(own_name_of(section), "a map without a name");
  return texts;
}

void keep_name_only(Texts& texts, std::string_view section) {
  std::erase_if(texts, [name = own_name_of(section), section](const auto& text) {
    return is_within(text.first, section) && text.first != name;
  });
}

// Reduces the sections of unlike models and GPUs to their names, and a stack that only a single
// scenario has.
void reduce_unlike_files(Texts& first, Texts& other) {
  for (const std::string_view section : {"model", "gpu", "stack"}) {
    const auto was = first.find(own_name_of(section));
    const auto is = other.find(own_name_of(section));
    const bool has_both = was != first.end() && is != other.end();
    if (has_both && (section == "stack" || was->second == is->second)) continue;
    keep_name_only(first, section);
    keep_name_only(other, section);
  }
}

// Takes the times of layers out of a scenario's texts.
Texts take_layer_times(Texts& texts) {
  Texts times;
  for (auto text = texts.begin(); text != texts.end();) {
    const auto next = std::next(text);
    if (is_within(text->first, "layer_times")) times.insert(texts.extract(text));
    text = next;
  }
  return times;
}

// Replaces the times of layers by a single text, which differs if the times do.
void reduce_layer_times(Texts& first, Texts& other) {
  const Texts was = take_layer_times(first);
  const Texts is = take_layer_times(other);
  if (!was.empty()) first["layer_times"] = "given";
  if (!is.empty()) other["layer_times"] = was.empty() || was == is ? "given" : "other times";
}

std::string text_or_default(const Texts& texts, const std::string& key) {
  const auto text = texts.find(key);
  return text == texts.end() ? default_text(key) : text->second;
}

std::string flag_text(bool flag) { return std::string(flag_names[flag ? 1 : 0]); }

std::string reserved_by(const Texts& texts) {
  std::uint64_t bytes = 0;
  for (const char* const key : {"stack.memory.context", "stack.memory.nccl_buffers"}) {
    const Value size = make_text(text_or_default(texts, key), {});
    bytes += read_size({size, key}, "a size of memory");
  }
  constexpr double mebibyte = 1U << 20U;
  return fmt::format("{:g} MiB", static_cast<double>(bytes) / mebibyte);
}

std::string fuses_loss(const Texts& texts) {
  const auto groups = texts.find("stack.fused");
  return flag_text(groups == texts.end() ||
                   groups->second.find("cross_entropy") != std::string::npos);
}

// Keys of a scenario whose defaults follow from other keys of its stack, as in set_stack.
struct StackDefault {
  std::string_view key;
  std::string (*text)(const Texts&);
};
constexpr std::array stack_defaults{
    StackDefault{
        "training.fragmentation",
        [](const Texts& texts) { return text_or_default(texts, "stack.memory.fragmentation"); }},
    StackDefault{"training.reserved", reserved_by},
    StackDefault{"training.fused_loss", fuses_loss},
    StackDefault{"training.flash_attention",
                 [](const Texts& texts) {
                   return flag_text(
                       !text_or_default(texts, "stack.attention").starts_with("unfused"));
                 }},
    StackDefault{
        "training.recompute.early_stop",
        [](const Texts& texts) { return text_or_default(texts, "stack.recompute.early_stop"); }},
    StackDefault{"parallel.max_unsharded_stages",
                 [](const Texts& texts) {
                   const auto stages = texts.find("stack.max_unsharded_stages");
                   return stages == texts.end() ? "all stages" : stages->second;
                 }},
    StackDefault{
        "parallel.unshard_lookahead",
        [](const Texts& texts) { return text_or_default(texts, "stack.unshard_lookahead"); }},
    StackDefault{"parallel.gather_ahead",
                 [](const Texts& texts) {
                   const auto elements = texts.find("stack.gather_ahead");
                   return elements == texts.end() ? "one layer" : elements->second;
                 }},
};

// Returns whether a scenario has the value of a key in another form: a map instead of a text, or
// the reverse, as in `recompute: full` and `recompute: {granularity: full}`.
bool has_other_form(const Texts& texts, std::string_view key) {
  if (has_section(texts, key)) return true;
  for (std::size_t dot = key.rfind('.'); dot != std::string_view::npos; dot = key.rfind('.')) {
    key = key.substr(0, dot);
    if (texts.contains(std::string(key))) return true;
  }
  return false;
}

// Returns the value of a key in a scenario, or its default; nothing if it has neither.
std::optional<std::string> value_in(const Texts& texts, const std::string& key) {
  if (const auto text = texts.find(key); text != texts.end()) return text->second;
  const auto* const of_stack = std::ranges::find(stack_defaults, key, &StackDefault::key);
  if (of_stack != stack_defaults.end() && has_section(texts, "stack")) return of_stack->text(texts);
  if (has_other_form(texts, key)) return std::nullopt;
  const std::string text = default_text(key);
  return text.empty() ? std::nullopt : std::optional(text);
}

// Returns a number without a unit, or a part of a whole, in a uniform form.
std::string plain_number(const Field& field) {
  if (const auto number = base::parse_number<double>(field.value.text))
    return fmt::format("{}", *number);
  return field.value.text.ends_with('%') ? fmt::format("{}", read_part(field, "a part"))
                                         : field.value.text;
}

// Returns a text in which equal quantities are equal: "2 GiB" and "2048 MiB", "10 %" and "0.1".
// Texts that are no quantities of the key's type stay as they are.
std::string uniform(const std::string& key, const std::string& text) {
  const KeyRow* const row = scenario_key(key);
  const Value value = make_text(text, {});
  const Field field{value, key};
  try {
    if (row != nullptr && row->value.type == ValueType::time)
      return fmt::format("{}", read_time(field, "a time"));
    if (row != nullptr && row->value.type == ValueType::size)
      return fmt::format("{}", read_size(field, "a size"));
    return plain_number(field);
  } catch (const Error&) {
    return text;
  }
}

bool are_equal(const std::string& key, const std::optional<std::string>& was,
               const std::optional<std::string>& is) {
  if (!was || !is) return was == is;
  return *was == *is || uniform(key, *was) == uniform(key, *is);
}

void rename_aliases(Value& map, const std::string& path) {
  static const std::map<std::string, std::string> names = [] {
    std::map<std::string, std::string> keys;
    for (const KeyRow& row : scenario_keys()) {
      if (row.info.alias.empty()) continue;
      const std::size_t dot = row.name.rfind('.');
      const std::string section = dot == std::string::npos ? "" : row.name.substr(0, dot + 1);
      keys.emplace(section + std::string(row.info.alias), row.name.substr(section.size()));
    }
    return keys;
  }();
  for (Entry& entry : map.entries) {
    if (const auto it = names.find(path + entry.key); it != names.end()) entry.key = it->second;
    if (entry.value.kind == Value::Kind::map) rename_aliases(entry.value, path + entry.key + ".");
  }
}

// Scenario that has a stack and nothing else.
Value scenario_of_stack(const Value& stack) {
  Value scenario;
  scenario.entries.push_back({"stack", stack.origin, stack});
  return scenario;
}

}  // namespace

const KeyRow* scenario_key(std::string_view name) {
  static const std::map<std::string, KeyRow, std::less<>> rows = [] {
    std::map<std::string, KeyRow, std::less<>> by_name;
    for (KeyRow& row : scenario_keys()) by_name.try_emplace(row.name, row);
    return by_name;
  }();
  const auto row = rows.find(name);
  return row == rows.end() ? nullptr : &row->second;
}

void use_own_names(Value& tree) { rename_aliases(tree, ""); }

std::vector<SettingChange> setting_changes(const Value& first, const Value& other) {
  Texts texts = texts_of(first);
  Texts other_texts = texts_of(other);
  reduce_unlike_files(texts, other_texts);
  reduce_layer_times(texts, other_texts);
  std::set<std::string> keys;
  for (const Texts* const of : {&texts, &other_texts})
    for (const auto& [key, text] : *of) keys.insert(key);
  std::vector<SettingChange> changes;
  for (const std::string& key : keys) {
    SettingChange change{key, value_in(texts, key), value_in(other_texts, key)};
    if (!are_equal(key, change.was, change.is)) changes.push_back(std::move(change));
  }
  return changes;
}

bool is_changed_stack(const Value& stack) {
  const Value* const name = find(stack, "name");
  if (name == nullptr) return false;
  const std::vector<std::string> names = library_names("stacks", ".yaml");
  if (std::ranges::find(names, name->text) == names.end()) return false;
  const Value plain_name = make_text(name->text, {});
  std::vector<SettingChange> changes = setting_changes(
      scenario_of_stack(named_stack_tree({plain_name, "stack"})), scenario_of_stack(stack));
  if (name->text == default_stack)
    std::erase_if(changes, [](const SettingChange& change) {
      return change.key == "stack.schedules" && change.is == "[]";
    });
  return !changes.empty();
}

}  // namespace pipewright::config
