#include "sim/evaluation/work.hpp"

namespace pipewright::evaluation {

double samples_per_microbatch(const config::Scenario& scenario) {
  if (scenario.samples_per_microbatch) return *scenario.samples_per_microbatch;
  return scenario.model ? scenario.training.microbatch_size : 0;
}

double tokens_per_microbatch(const config::Scenario& scenario) {
  if (scenario.tokens_per_microbatch) return *scenario.tokens_per_microbatch;
  if (!scenario.model) return 0;
  return static_cast<double>(scenario.training.microbatch_size) *
         scenario.training.sequence.value_or(scenario.model->value.sequence);
}

analysis::IterationWork work_of(const config::Scenario& scenario,
                                const schedules::Schedule& schedule,
                                const workload::StageCosts& costs) {
  const config::Parallel& parallel = scenario.parallel;
  const std::uint64_t gpus =
      std::uint64_t{parallel.ranks_per_stage()} * parallel.dp.value * parallel.pp.value;
  const double microbatches = static_cast<double>(schedule.microbatches) * parallel.dp.value;
  return {.gpus = gpus,
          .samples = samples_per_microbatch(scenario) * microbatches,
          .tokens = tokens_per_microbatch(scenario) * microbatches,
          .model_flop = costs.model_flops_per_microbatch * microbatches,
          .peak_flops = costs.peak_flops * static_cast<double>(gpus)};
}

}  // namespace pipewright::evaluation
