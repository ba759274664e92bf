#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "sim/cli/requests/requests.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/tree_json.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

using config::Value;

Value tree_of(const Json& request) {
  if (request.contains("file")) return config::read_yaml_file(request["file"].get<std::string>());
  if (request.contains("text"))
    return config::read_yaml_text(request["text"].get<std::string>(),
                                  request.at("name").get<std::string>());
  return config::tree_from_json(request.at("tree"));
}

void remove_key(Value& map, std::string_view path) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view key = path.substr(0, dot);
  if (dot == path.size())
    std::erase_if(map.entries, [&](const config::Entry& entry) { return entry.key == key; });
  else if (Value* const inner = config::find(map, key))
    remove_key(*inner, path.substr(dot + 1));
}

// Makes all checks of a scenario that need no cluster.
Json checked(const Value& tree) {
  const config::Scenario scenario = config::read_scenario(tree);
  Json json{{"yaml", scenario.text},
            {"title", scenario.title},
            {"schedules", Json::array()},
            {"outputs", Json::array()},
            {"trace", nullptr}};
  for (const config::ScheduleSpec& spec : scenario.schedules)
    json["schedules"].push_back(spec.name);
  for (const auto& output : scenario.outputs) json["outputs"].push_back(output.value.string());
  if (scenario.trace) json["trace"] = scenario.trace->value.string();
  return json;
}

std::string_view name_of(config::ValueType type) {
  static constexpr std::array<std::string_view, 12> names{"text",   "flag", "choice",  "count",
                                                          "number", "time", "size",    "rate",
                                                          "path",   "map",  "library", "schedule"};
  return names.at(static_cast<std::size_t>(type));
}

Json list_of(std::span<const std::string_view> names) {
  Json list = Json::array();
  for (const std::string_view name : names) list.push_back(name);
  return list;
}

}  // namespace

Json answer_scenario(Message& request, const Connection&) {
  Value tree = tree_of(request.json);
  for (const Json& change : request.json.value("changes", Json::array())) {
    const auto path = change.at(0).get<std::string>();
    if (change.at(1).is_null())
      remove_key(tree, path);
    else
      config::set_key(tree, path, config::tree_from_json(change.at(1)));
  }
  Json answer{{"tree", config::tree_to_json(tree)}, {"yaml", config::to_yaml(tree)}};
  if (request.json.value("check", true)) answer["checked"] = checked(tree);
  return answer;
}

Json answer_keys(Message&, const Connection&) {
  Json rows = Json::array();
  for (const config::KeyRow& row : config::scenario_keys())
    rows.push_back({{"name", row.name},
                    {"alias", row.info.alias},
                    {"help", row.info.help},
                    {"unit", row.info.unit},
                    {"default", row.info.default_value},
                    {"required", row.info.required},
                    {"type", name_of(row.value.type)},
                    {"is_list", row.value.list},
                    {"choices", list_of(row.value.choices)},
                    {"list_choices", list_of(row.value.list_choices)},
                    {"is_map", row.value.keys != nullptr}});
  return {{"keys", rows}, {"versions", evaluation::versions()}};
}

}  // namespace pipewright::cli
