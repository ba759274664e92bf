#include "tests/analysis/report/why/timed_runs.hpp"

#include "schedules/families/catalog.hpp"
#include "support/runs.hpp"
#include "support/timed.hpp"

namespace pipewright::tests {

trace::Trace timed_run(const schedules::Schedule& schedule, const schedules::PassTimes& times,
                       double latency, schedules::P2p mode) {
  const auto costs = costs_of(schedule, times);
  const auto network = ideal_network(latency);
  return run({.schedule = schedule,
              .costs = costs,
              .cluster = network,
              .hosts = network.place({}, schedule.devices),
              .p2p = mode},
             execution::EngineKind::timing);
}

trace::Trace one_f_one_b(const std::vector<double>& factors, std::uint32_t microbatches,
                         double latency, schedules::P2p mode) {
  const auto schedule = schedules::make_schedule(
      "1f1b",
      {.devices = static_cast<std::uint32_t>(factors.size()), .microbatches = microbatches});
  schedules::PassTimes times = uniform_times(schedule, 1, 1, 1);
  for (auto& of_stage : times.of_stage)
    for (std::size_t stage = 0; stage < of_stage.size(); ++stage) of_stage[stage] *= factors[stage];
  return timed_run(schedule, times, latency, mode);
}

}  // namespace pipewright::tests
