#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "sim/execution/collectives/plan.hpp"
#include "sim/execution/job.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::execution {

// Result of running a collective of `seconds` beside `compute` seconds of kernels that can hide it.
// The kernels take `slowdown` times as long while both run.
struct Hidden {
  double waits = 0;    // seconds by which both together take longer than the compute alone
  double overlap = 0;  // seconds of compute that the collective slows down
};
Hidden hidden(double seconds, double compute, double slowdown);

// Simulates collectives that all start at once on an otherwise idle cluster. Returns the duration
// of each in seconds.
std::vector<double> simulate_alone(const cluster::Cluster& cluster, const RankPlacement& placement,
                                   std::span<const std::vector<Phase>> plans);

// Simulates and caches the durations of collectives inside passes: each kind and size once, with
// all groups of its kind in the whole job at once, and nothing else on the network.
class CollectiveTimes {
 public:
  // `algorithm` applies to all collectives that support it. Arguments passed by reference must
  // outlive this object.
  CollectiveTimes(const cluster::Cluster& cluster, const workload::Ranks& ranks,
                  const RankPlacement& placement, Algorithm algorithm);

  // Seconds of a single collective of `call` (which a pass runs `times` times): that of the slowest
  // group, in any replica, with GPUs of the device.
  double seconds(const workload::Call& call, std::uint32_t device);

 private:
  using Key = std::tuple<workload::Group, workload::Operation, std::uint64_t>;
  std::vector<double> simulate(const workload::Call& call) const;  // per device

  const cluster::Cluster& cluster_;
  const workload::Ranks& ranks_;
  const RankPlacement& placement_;
  Algorithm algorithm_;
  std::map<Key, std::vector<double>> cache_;
};

// Simulates the collectives inside passes, each once, with all groups of the job at once. The part
// that kernels do not hide, and the slowdown of kernels beside collectives, are added to the waits
// of `costs`, which are the job's. Pass times grow by the part that waits for the host do not
// cover, unless the run simulates these collectives in full detail. Optimizer steps grow by the
// part of their own collectives that compute does not hide. Optimizer steps grow by the
// part of their own collectives that compute does not hide.
void add_exposed_time(const cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs);

// Does the same with durations from a callback, which returns the seconds of a single collective of
// a call on a device.
using CallSeconds = std::function<double(const workload::Call& call, std::uint32_t device)>;
void add_exposed_time(const Job& job, workload::StageCosts& costs, const CallSeconds& seconds);

}  // namespace pipewright::execution
