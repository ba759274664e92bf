#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/launch_plan.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/difference.hpp"
#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {

// Collects the settings of a framework that correspond to a scenario, and what they cannot express.
class SettingsWriter {
 public:
  // `writes_arguments`: the settings are command-line arguments, whose defaults are known.
  // Otherwise they are values for recipes, whose defaults are unknown.
  SettingsWriter(const config::Scenario& scenario, const config::LaunchPlan& plan,
                 bool writes_arguments)
      : scenario_(scenario), plan_(plan), writes_arguments_(writes_arguments) {}

  const config::Scenario& scenario() const { return scenario_; }
  const config::LaunchPlan& plan() const { return plan_; }
  bool writes_arguments() const { return writes_arguments_; }

  void add(std::string_view name) { settings.push_back({.name = std::string(name)}); }
  template <class T>
  void add(std::string_view name, const T& value) {
    settings.push_back({.name = std::string(name), .values = {fmt::format("{}", value)}});
  }
  bool has(std::string_view name) const;
  void remove(std::initializer_list<std::string_view> names);

  // States that the framework cannot express the scenario's `key`, and why. `key` may be empty.
  void cannot(std::string_view key, std::string sentence) {
    reasons.push_back({std::string(key), std::move(sentence)});
  }

  std::vector<Setting> settings;
  std::vector<Difference> reasons;

 private:
  const config::Scenario& scenario_;
  const config::LaunchPlan& plan_;
  bool writes_arguments_;
};

}  // namespace pipewright::jobs
