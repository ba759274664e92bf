#pragma once

#include <string>

#include "analysis/report/search/objective.hpp"
#include "sim/config/scenario.hpp"
#include "sim/execution/ledger.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// Samples or tokens in one microbatch: the numbers that the scenario gives, or those of its model;
// 0 if unknown.
double samples_per_microbatch(const config::Scenario& scenario);
double tokens_per_microbatch(const config::Scenario& scenario);

// Computed work of one iteration (samples, tokens, FLOPs). Divided by the time of an iteration it
// gives the rates of analysis::Summary.
analysis::IterationWork work_of(const config::Scenario& scenario,
                                const schedules::Schedule& schedule,
                                const workload::StageCosts& costs);

// The device with the highest ratio of peak memory to capacity.
struct Fullest {
  std::uint32_t device = 0;
  std::uint32_t replica = 0;  // relevant where replicas differ in their microbatches
  execution::PeakMemory peak;
  std::uint64_t capacity = 0;  // bytes; 0: unknown
  // Host of the GPU whose memory limits the device, if that is not the device's first GPU.
  std::string host;

  bool fits() const { return capacity == 0 || peak.bytes <= capacity; }
};
// `capacity` is the memory of each device, in bytes; 0: unknown.
Fullest fullest(const execution::Job& job, const std::vector<std::uint64_t>& capacity);

// Host of the device's GPU with the least memory. Empty if it is the host that outputs name anyway.
std::string smallest_host(const execution::Job& job, std::uint32_t device);

// Text for errors: "device 3: 91.2 GiB of 80 GiB: activations 50.1 GiB, ..., 11.2 GiB too much"
std::string describe(const Fullest& fullest);

}  // namespace pipewright::evaluation
