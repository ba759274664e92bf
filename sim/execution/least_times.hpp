#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/execution/collectives/least_time.hpp"
#include "sim/execution/replica_groups.hpp"

namespace pipewright::execution {

// What the traffic of a job takes at least, for all jobs whose ranks are laid out alike on the same
// GPUs: ways are looked up, and collectives planned, once.
class LeastTimes {
 public:
  // Whether flows that start at once are known to share links. The timing engine ignores it.
  enum class Sharing : std::uint8_t { known, ignored };
  explicit LeastTimes(const Job& job, Sharing sharing = Sharing::known);

  // Seconds of a boundary tensor from one device of a replica to another, of which each GPU of the
  // largest device sends `bytes`; all GPUs of a device send at once.
  double hop(ReplicaDevice source, std::uint32_t destination, std::uint64_t bytes);
  // Of collectives that follow one another.
  double seconds(const std::vector<CollectiveOp>& ops, Algorithm algorithm);
  // Of one of a call's `times`, as CollectiveTimes has it.
  double seconds(const workload::Call& call, std::uint32_t device, Algorithm algorithm);

  const std::shared_ptr<ProcessGroups>& groups() const { return groups_; }  // null without ranks

 private:
  struct Hop {
    double latency = 0;
    double seconds_per_byte = 0;
  };
  using OpKey = std::tuple<const RankGroups*, workload::Operation, Algorithm>;
  using CallKey = std::tuple<workload::Group, std::uint32_t, workload::Operation, Algorithm>;
  bool together() const { return sharing_ == Sharing::known; }
  Hop find_hop(ReplicaDevice source, std::uint32_t destination) const;

  // The groups of a kind with GPUs of a device, in any replica, but of those alike within a node.
  RankGroups groups_of(workload::Group kind, std::uint32_t device) const;

  RankPlacement placement_;
  bool cuts_boundary_;
  bool are_links_unlike_;  // of a class
  Sharing sharing_;
  std::shared_ptr<ProcessGroups> groups_;
  std::map<std::pair<ReplicaDevice, std::uint32_t>, Hop> hops_;
  std::map<OpKey, LeastTime> ops_;
  std::map<CallKey, LeastTime> calls_;
};

// Adds the collectives inside passes to the times of `costs`, which are the job's, as
// add_exposed_time() does but without the engine: never more than that adds.
void add_least_exposed_time(const Job& job, LeastTimes& least, workload::StageCosts& costs);

}  // namespace pipewright::execution
