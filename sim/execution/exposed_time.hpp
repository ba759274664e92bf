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

// A collective of `seconds` beside as much compute as can hide it, which takes `slowdown` times as
// long while both run.
struct Hidden {
  double waits = 0;   // by how much both together are longer than the compute
  double beside = 0;  // seconds of the compute that the collective slows down
};
Hidden hidden(double seconds, double compute, double slowdown);

// Starts all these collectives at once on the cluster, where nothing else happens, and returns how
// many seconds each takes.
std::vector<double> simulate_alone(const cluster::Cluster& cluster, const RankPlacement& placement,
                                   std::span<const std::vector<Phase>> plans);

// How long the collectives inside passes take: each kind and size is simulated once, with all
// groups of its kind in the whole job at once, and nothing else on the network.
class CollectiveTimes {
 public:
  // `algorithm` is that of all collectives that know it. What is passed by reference outlives this.
  CollectiveTimes(const cluster::Cluster& cluster, const workload::Ranks& ranks,
                  const RankPlacement& placement, Algorithm algorithm);

  // Of one of the call's `times`, in seconds: what the slowest group takes of those with GPUs of
  // this device, in any replica.
  double seconds(const workload::Call& call, std::uint32_t device);

 private:
  using Key = std::tuple<workload::Group, workload::Operation, std::uint64_t>;
  std::vector<double> simulate(const workload::Call& call) const;  // per device

  const cluster::Cluster& cluster_;
  const workload::Ranks& ranks_;
  const RankPlacement& placement_;
  Algorithm algorithm_;
  std::map<Key, std::vector<double>> known_;
};

// Times the collectives inside passes, each once, with all groups of the job at once on the
// cluster: what kernels do not hide of them, and what they slow kernels beside them down, goes to
// the waits of `costs`, which are the job's, and, as far as passes do not wait for the host anyway,
// to their times, unless these collectives are to be simulated in full.
void add_exposed_time(const cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs);

// The same with seconds of one of a call's `times` on a device that are from elsewhere.
using CallSeconds = std::function<double(const workload::Call& call, std::uint32_t device)>;
void add_exposed_time(const Job& job, workload::StageCosts& costs, const CallSeconds& seconds);

}  // namespace pipewright::execution
