#include "sim/config/huggingface/config.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"

namespace pipewright::config::huggingface {

Config::Match Config::find(Names names) {
  Match match;
  for (const std::string_view name : names) {
    const Value* const value = config::find(*text_, name);
    if (value == nullptr) continue;
    read_.emplace(name);
    const bool is_null = value->kind == Value::Kind::text && value->text == null_text;
    if (!match && !is_null) match = {name, value};
  }
  return match;
}

bool Config::has(Names names) const {
  for (const std::string_view name : names)
    if (config::find(*text_, name) != nullptr) return true;
  return false;
}

Config Config::part(std::string_view key) {
  const Match match = find({key});
  if (!match || match.value->kind != Value::Kind::map)
    throw Error(match ? match.value->origin : origin(),
                fmt::format("{} is {} in config.json, and contains sizes of layers", key,
                            match ? "no map" : "missing"));
  return {*whole_, *match.value};
}

namespace {

// Returns the value of a key that may be a list with one value per layer, all of which are equal.
const Value& value_of_all_layers(const Config::Match& match) {
  const Value& value = *match.value;
  if (value.kind != Value::Kind::list || value.items.empty()) return value;
  const auto differs = [&](const Value& item) {
    return item.kind != Value::Kind::text || item.text != value.items.front().text;
  };
  if (std::ranges::any_of(value.items, differs))
    throw Error(value.origin,
                fmt::format("{} differs from layer to layer, which is not modelled", match.key))
        .allow("a number, or a list that has the same number for every layer");
  return value.items.front();
}

}  // namespace

std::optional<Number> Config::number(Names names) {
  const Match match = find(names);
  if (!match) return std::nullopt;
  const Value& value = value_of_all_layers(match);
  const bool is_zero = value.kind == Value::Kind::text && value.text == "0";
  const std::uint32_t count = is_zero ? 0 : read_count({value, std::string(match.key)}, "64");
  return Number{count, value.origin};
}

Number Config::number(Names names, std::uint32_t default_value) {
  return number(names).value_or(Number{default_value, origin()});
}

Number Config::required_number(Names names) {
  if (const auto value = number(names)) return *value;
  throw Error(origin(), fmt::format("{} is missing in config.json", fmt::join(names, " or ")));
}

std::optional<Located<bool>> Config::flag(Names names) {
  const Match match = find(names);
  if (!match) return std::nullopt;
  return Located<bool>{read_flag({*match.value, std::string(match.key)}), match.value->origin};
}

bool Config::flag(Names names, bool default_value) {
  const auto value = flag(names);
  return value ? value->value : default_value;
}

std::optional<Located<std::vector<std::string>>> Config::list(Names names, std::size_t min_items) {
  const Match match = find(names);
  if (!match) return std::nullopt;
  const Field field{*match.value, std::string(match.key)};
  if (match.value->kind != Value::Kind::list || match.value->items.size() < min_items)
    throw wrong(field, fmt::format("a list of {} items, one per layer", min_items));
  Located<std::vector<std::string>> texts{{}, match.value->origin};
  for (const Value& item : match.value->items)
    texts.value.push_back(read_text({item, field.name}, "a list of texts or numbers"));
  return texts;
}

Error refusal(const Config& config, std::string_view key, std::string_view found) {
  const Value* const value = config::find(config.text(), key);
  return Error(value != nullptr ? value->origin : config.origin(), found);
}

}  // namespace pipewright::config::huggingface
