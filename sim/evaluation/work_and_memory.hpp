#pragma once

#include <string>

#include "analysis/report/search/objective.hpp"
#include "sim/config/scenario.hpp"
#include "sim/execution/ledger.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// As given, or as the model's microbatch has them; 0 where neither says so.
double samples_per_microbatch(const config::Scenario& scenario);
double tokens_per_microbatch(const config::Scenario& scenario);

// Of one iteration: over the time of one, the rates of analysis::Summary.
analysis::IterationWork work_of(const config::Scenario& scenario,
                                const schedules::Schedule& schedule,
                                const workload::StageCosts& costs);

// The device that is fullest for what it has.
struct Fullest {
  std::uint32_t device = 0;
  std::uint32_t replica = 0;  // of several, where their microbatches differ
  execution::PeakMemory peak;
  std::uint64_t capacity = 0;  // bytes; 0: unknown
  std::string host;            // of the GPU that has so little, where it is not the device's first

  bool fits() const { return capacity == 0 || peak.bytes <= capacity; }
};
// `capacity` by device, in bytes; 0: unknown.
Fullest fullest(const execution::Job& job, const std::vector<std::uint64_t>& capacity);

// The host of the device's GPU with the least memory, "" where it is the one that outputs name.
std::string smallest_host(const execution::Job& job, std::uint32_t device);

// "device 3: 91.2 GiB of 80 GiB: activations 50.1 GiB, ..., 11.2 GiB too much"
std::string describe(const Fullest& fullest);

}  // namespace pipewright::evaluation
