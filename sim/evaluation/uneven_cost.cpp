#include "sim/evaluation/uneven_cost.hpp"

#include <optional>

#include "sim/execution/timing/engine.hpp"
#include "sim/workload/shape/encoder.hpp"

namespace pipewright::evaluation {
namespace {

// `least_times` are created for the first job. All jobs have the same ranks on the same GPUs.
double bound_seconds(const config::Scenario& scenario, const Hardware& hardware,
                     const schedules::Schedule& schedule, bool ignores_unevenness,
                     std::optional<execution::LeastTimes>& least_times) {
  workload::Plan plan = workload::make_plan(scenario, schedule, hardware.gpus);
  execution::Job job = plain_job(scenario, hardware, plan.schedule, plan.costs);
  if (ignores_unevenness) job.uneven = nullptr;
  if (!least_times)
    least_times.emplace(execution::LeastTimes(job).of_ranks(execution::enough_ranks));
  execution::add_least_exposed_time(job, *least_times, plan.costs);
  return execution::lower_bound(job, *least_times);
}

}  // namespace

double uneven_cost(const config::Scenario& scenario, const Hardware& hardware,
                   const schedules::Schedule& schedule) {
  if (!scenario.model || scenario.variation.is_random()) return 0;
  const bool is_routed = scenario.model->value.experts && scenario.parallel.ep.value > 1 &&
                         !config::routing_text(scenario.training.experts).empty();
  if (!scenario.training.lengths && !is_routed && !workload::has_uneven_images(scenario.training))
    return 0;
  config::Scenario balanced = scenario;
  config::ExpertTraining& experts = balanced.training.experts;
  experts.power_law.reset();
  experts.imbalance = 1;
  experts.routing = config::RouterBalance::forced;
  std::optional<execution::LeastTimes> least_times;
  return 1 - bound_seconds(balanced, hardware, schedule, true, least_times) /
                 bound_seconds(scenario, hardware, schedule, false, least_times);
}

}  // namespace pipewright::evaluation
