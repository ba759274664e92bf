#include "sim/cli/schedule_options.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/recompute.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {
namespace {

bool takes(const std::string& name, schedules::Choice choice) {
  return std::ranges::any_of(schedules::catalog(), [&](const schedules::Entry& entry) {
    return entry.name == name && entry.takes(choice);
  });
}

}  // namespace

void add_schedule_options(po::options_description& options) {
  auto add = options.add_options();
  add("schedule", several_words("NAME.."), "schedules to compare; see 'pipewright schedule list'");
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (info.is_flag)
      add(option_of(info).c_str(), std::string(info.help).c_str());
    else
      add(option_of(info).c_str(), several_words("N"), std::string(info.help).c_str());
  add("legacy", "read a .csv of 2024, in which B is the input gradient and BW the full backward");
}

void set_schedules(config::Value& root, const po::variables_map& flags) {
  const std::vector<std::string> names = values(flags, "schedule");
  const config::Origin origin{.source = "--schedule"};
  if (!names.empty()) {
    config::Value list{.kind = config::Value::Kind::list, .origin = origin};
    for (const std::string& name : names) {
      config::Value map{.kind = config::Value::Kind::map, .origin = origin};
      map.entries.push_back({"name", origin, config::make_text(name, origin)});
      list.items.push_back(std::move(map));
    }
    config::set_key(root, "schedule", names.size() == 1 ? list.items.front() : list);
  }
  if (flags.count("legacy") != 0) {
    const config::Value value = config::make_text("true", {.source = "--legacy"});
    if (names.size() < 2) config::set_key(root, "schedule.legacy", value);
    for (std::size_t i = 0; i < names.size() && names.size() > 1; ++i)
      if (config::schedule_source(names[i]) == config::ScheduleSource::torch_file)
        config::set_key(root, fmt::format("schedule.{}.legacy", i), value);
  }
  for (const schedules::ChoiceInfo& info : schedules::choices) {
    if (flags.count(option_of(info)) == 0) continue;
    const std::vector<std::string> words =
        info.is_flag ? std::vector<std::string>{"true"} : values(flags, option_of(info));
    if (words.empty()) continue;
    const std::string flag(info.flag);
    if (info.key == "recompute" &&
        std::ranges::find(config::recompute_names, words.front()) != config::recompute_names.end())
      throw UsageError("--recompute takes a number of chunks")
          .suggest(
              fmt::format("use --recompute-activations {} to recompute layers", words.front()));
    const config::Value value = config::make_text(single(words, flag), {.source = flag});
    if (names.size() < 2) {
      config::set_key(root, fmt::format("schedule.{}", info.key), value);
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      if (takes(names[i], info.choice))
        config::set_key(root, fmt::format("schedule.{}.{}", i, info.key), value);
  }
}

config::Value scheduled_tree(const po::variables_map& flags) {
  config::Value root =
      scenario_tree(flags, [&](config::Value& tree) { set_schedules(tree, flags); });
  check_has_scenario(root);
  return root;
}

}  // namespace pipewright::cli
