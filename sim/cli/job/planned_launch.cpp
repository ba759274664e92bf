#include "sim/cli/job/planned_launch.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include "schedules/schedule.hpp"
#include "sim/config/text/error.hpp"
#include "sim/evaluation/launch_plan.hpp"
#include "sim/evaluation/layouts.hpp"
#include "sim/evaluation/network_estimate.hpp"

namespace pipewright::cli {
namespace {

// A plan, with the scenario and the order of passes that it refers to.
struct Planned {
  Planned(config::Scenario candidate, const evaluation::Hardware& hardware)
      : scenario(std::move(candidate)),
        order(evaluation::plan_on(scenario, scenario.schedules.front(), hardware)),
        plan(evaluation::launch_plan(scenario, hardware, order.schedule)) {}

  config::Scenario scenario;
  workload::Plan order;
  config::LaunchPlan plan;
};

// Layouts on each cluster, by the file of the cluster.
using LayoutsOfClusters = std::map<std::filesystem::path, evaluation::Layouts>;

evaluation::Layouts& layouts_of(const config::Scenario& scenario, LayoutsOfClusters& clusters) {
  const std::filesystem::path file = scenario.cluster ? scenario.cluster->value : "";
  const auto it = clusters.find(file);
  return it != clusters.end() ? it->second
                              : clusters.emplace(file, evaluation::Layouts(scenario)).first->second;
}

}  // namespace

PlanLaunch launch_planner() {
  const auto clusters = std::make_shared<LayoutsOfClusters>();
  return [clusters](const config::Scenario& scenario) {
    const config::ScheduleSpec& spec = scenario.schedules.front();
    if (config::schedule_source(spec.name) != config::ScheduleSource::search) {
      try {
        const evaluation::Layout& layout = layouts_of(scenario, *clusters).find(scenario);
        const auto planned = std::make_shared<const Planned>(scenario, layout.hardware);
        return std::shared_ptr<const config::LaunchPlan>(planned, &planned->plan);
      } catch (const config::StructuredError&) {
      } catch (const schedules::Error&) {
      }
    }
    return std::make_shared<const config::LaunchPlan>();
  };
}

std::shared_ptr<const config::LaunchPlan> planned_launch(const config::Scenario& scenario) {
  return launch_planner()(scenario);
}

}  // namespace pipewright::cli
