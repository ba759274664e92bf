#include "sim/evaluation/uneven_cost.hpp"

#include "sim/execution/timing/engine.hpp"

namespace pipewright::evaluation {
namespace {

double bound_seconds(const config::Scenario& scenario, const Hardware& hardware,
                     const schedules::Schedule& schedule, bool ignores_unevenness) {
  workload::Plan plan = workload::make_plan(scenario, schedule, hardware.gpus);
  execution::Job job = plain_job(scenario, hardware, plan.schedule, plan.costs);
  if (ignores_unevenness) job.uneven = nullptr;
  execution::LeastTimes least_times(job);
  execution::add_least_exposed_time(job, least_times, plan.costs);
  return execution::lower_bound(job, least_times);
}

}  // namespace

double uneven_cost(const config::Scenario& scenario, const Hardware& hardware,
                   const schedules::Schedule& schedule) {
  const config::ExpertTraining& experts = scenario.training.experts;
  const bool is_uneven = scenario.training.lengths || experts.power_law || experts.imbalance > 1;
  if (!scenario.model || !is_uneven || scenario.variation.is_random()) return 0;
  config::Scenario balanced = scenario;
  balanced.training.experts.power_law.reset();
  balanced.training.experts.imbalance = 1;
  return 1 - bound_seconds(balanced, hardware, schedule, true) /
                 bound_seconds(scenario, hardware, schedule, false);
}

}  // namespace pipewright::evaluation
