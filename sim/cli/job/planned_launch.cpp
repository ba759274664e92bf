#include "sim/cli/job/planned_launch.hpp"

#include "schedules/schedule.hpp"
#include "sim/config/text/error.hpp"
#include "sim/evaluation/launch_plan.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::cli {
namespace {

// A plan, and the run whose order of passes it refers to.
struct Planned {
  explicit Planned(const config::Scenario& scenario)
      : run(scenario), plan(evaluation::launch_plan(run, 0)) {}

  evaluation::ScenarioRun run;
  config::LaunchPlan plan;
};

}  // namespace

std::shared_ptr<const config::LaunchPlan> planned_launch(const config::Scenario& scenario) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  if (config::schedule_source(spec.name) != config::ScheduleSource::search) {
    try {
      const auto planned = std::make_shared<const Planned>(scenario);
      return {planned, &planned->plan};
    } catch (const config::StructuredError&) {
    } catch (const schedules::Error&) {
    }
  }
  return std::make_shared<const config::LaunchPlan>();
}

}  // namespace pipewright::cli
