#include "sim/config/huggingface/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"

namespace pipewright::config::huggingface {

Config::Found Config::find(Names names) {
  Found found;
  for (const std::string_view name : names) {
    const Value* const value = config::find(*text_, name);
    if (value == nullptr) continue;
    read_.emplace(name);
    const bool is_null = value->kind == Value::Kind::text && value->text == null_text;
    if (!found && !is_null) found = {name, value};
  }
  return found;
}

bool Config::has(Names names) const {
  for (const std::string_view name : names)
    if (config::find(*text_, name) != nullptr) return true;
  return false;
}

std::optional<Number> Config::number(Names names) {
  const Found found = find(names);
  if (!found) return std::nullopt;
  const Value& value = *found.value;
  const bool none = value.kind == Value::Kind::text && value.text == "0";
  const std::uint32_t count = none ? 0 : read_count({value, std::string(found.key)}, "64");
  return Number{count, value.origin};
}

Number Config::number(Names names, std::uint32_t otherwise) {
  return number(names).value_or(Number{otherwise, origin()});
}

Number Config::needed(Names names) {
  if (const auto found = number(names)) return *found;
  throw Error(origin(), fmt::format("{} is missing in config.json", fmt::join(names, " or ")));
}

std::optional<Located<bool>> Config::flag(Names names) {
  const Found found = find(names);
  if (!found) return std::nullopt;
  return Located<bool>{read_flag({*found.value, std::string(found.key)}), found.value->origin};
}

bool Config::flag(Names names, bool otherwise) {
  const auto given = flag(names);
  return given ? given->value : otherwise;
}

std::optional<Located<std::vector<std::string>>> Config::list(Names names, std::size_t least) {
  const Found found = find(names);
  if (!found) return std::nullopt;
  const Field field{*found.value, std::string(found.key)};
  if (found.value->kind != Value::Kind::list || found.value->items.size() < least)
    throw wrong(field, fmt::format("a list of {} items, one a layer", least));
  Located<std::vector<std::string>> texts{{}, found.value->origin};
  for (const Value& item : found.value->items)
    texts.value.push_back(read_text({item, field.name}, "a list of texts or numbers"));
  return texts;
}

Error refusal(const Config& config, std::string_view key, std::string_view found) {
  const Value* const value = config::find(config.text(), key);
  return Error(value != nullptr ? value->origin : config.origin(), found);
}

}  // namespace pipewright::config::huggingface
