#pragma once

#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/execution/collectives/least_time.hpp"
#include "sim/execution/replica_groups.hpp"

namespace pipewright::execution {

// Number of ranks of a collective beyond which further groups rarely make a bound higher, but take
// seconds.
inline constexpr std::size_t enough_ranks = 2048;

// Lower bounds on the communication times of a job. They hold for all jobs whose ranks are laid out
// in the same way on the same GPUs; routes are looked up and collectives planned once.
class LeastTimes {
 public:
  // Treatment of flows that start at once: modelled if the bound includes that they share links;
  // ignored, as by the timing engine, if it does not.
  enum class Sharing : std::uint8_t { modelled, ignored };
  explicit LeastTimes(const Job& job, Sharing sharing = Sharing::modelled);
  // Returns bounds that are computed in a fraction of the time, and are lower at most: collectives
  // of a call count with the groups of the first replica alone, so that slower groups of other
  // replicas, and links that groups share with them, do not count. Collectives that are not part of
  // a call, such as the reduction of gradients, take no time.
  LeastTimes of_first_replica() const;
  // Returns bounds that count at most about `ranks` ranks of a collective, in whole groups. The
  // time that they take is limited for a job of any size, and they are lower at most.
  LeastTimes of_ranks(std::size_t ranks) const;

  // Lower bound on the seconds that a boundary tensor takes from a device of a replica to another
  // device, if each GPU of the larger device sends `bytes`. All GPUs send at once.
  double hop(ReplicaDevice source, std::uint32_t destination, std::uint64_t bytes);
  // Lower bound on the seconds of all of `ops` together, which run one after the other.
  double seconds(const std::vector<CollectiveOp>& ops, Algorithm algorithm);
  // Lower bound on the seconds of a single collective of `call` (which a pass runs `times` times),
  // on the slowest of the groups with GPUs of the device, in the replicas that count.
  double seconds(const workload::Call& call, std::uint32_t device, Algorithm algorithm);

  const std::shared_ptr<ProcessGroups>& groups() const { return groups_; }  // null without ranks

 private:
  struct Hop {
    double latency = 0;
    double seconds_per_byte = 0;
  };
  using OpKey = std::tuple<const RankGroups*, workload::Operation, Algorithm>;
  using CallKey = std::tuple<workload::Group, std::uint32_t, workload::Operation, Algorithm>;
  bool models_sharing() const { return sharing_ == Sharing::modelled; }
  LeastTime least_time(const workload::Operation& operation, const RankGroups& groups,
                       Algorithm algorithm) const;
  Hop find_hop(ReplicaDevice source, std::uint32_t destination) const;

  // Groups of a kind that include GPUs of a device, in any of the replicas that count. Equivalent
  // groups inside nodes are left out.
  RankGroups groups_of(workload::Group kind, std::uint32_t device) const;

  RankPlacement placement_;
  bool cuts_boundary_;
  // True if links of the same class may differ in bandwidth.
  bool links_vary_;
  Sharing sharing_;
  std::uint32_t replicas_ = 1;                                        // replicas whose groups count
  bool counts_ops_ = true;                                            // false: they take no time
  std::size_t most_ranks_ = std::numeric_limits<std::size_t>::max();  // of a collective
  std::shared_ptr<ProcessGroups> groups_;
  std::map<std::pair<ReplicaDevice, std::uint32_t>, Hop> hops_;
  std::map<OpKey, LeastTime> ops_;
  std::map<CallKey, LeastTime> calls_;
};

// Adds to the pass times in `costs`, which belong to the job, a lower bound on the seconds by which
// collectives inside each pass lengthen it. Needs no simulation, and never adds more than
// add_exposed_time(), which simulates the collectives.
void add_least_exposed_time(const Job& job, LeastTimes& least_times, workload::StageCosts& costs);

}  // namespace pipewright::execution
