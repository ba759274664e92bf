#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "sim/execution/flows/fold.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/execution/together.hpp"

namespace pipewright::execution {

// The flows that carry a job's traffic over the cluster. GPUs of a device run in lockstep, and
// where their placement is symmetric one flow stands for those of all of them (fold.hpp); in a
// symmetric run also for those of all replicas.
class Wiring {
 public:
  using TransferPlans = std::vector<std::shared_ptr<const TransferPlan>>;

  // Throws Error if the run is to be symmetric and the placement is not.
  Wiring(const Job& job, const RankPlacement& placement, const ReplicaGroups& replica_groups);

  // Of one of several jobs on a cluster, none of them symmetric: it has its flows once they are all
  // folded.
  struct OfSeveral {};
  Wiring(const Job& job, const RankPlacement& placement, const ReplicaGroups& replica_groups,
         OfSeveral several);
  // GPUs of a device that others' traffic does not treat alike do not fold.
  static void fold_together(std::span<Wiring* const> wirings);
  // Before that.
  LinksOfJob links(const ReplicaGroups& replica_groups);

  // A boundary tensor on its way from a device to a neighbour; all GPUs of a device send at once.
  const TransferPlans& hop(ReplicaDevice source, std::uint32_t destination) const {
    return hops_.at({source, destination});
  }
  // A collective over all its groups.
  const TransferPlans& transfer_plans(const CollectiveOp& op);

  std::uint64_t flows() const { return flows_; }  // of folded traffic, after the folding
  // How many links fare as this one does, which stands for them: 1 where nothing is folded.
  std::uint32_t represents(const cluster::Link* link) const;

 private:
  using Hop = std::pair<ReplicaDevice, std::uint32_t>;  // source and destination
  using OpKey = std::tuple<const RankGroups*, workload::Operation, std::uint64_t>;
  struct Plans {
    std::vector<std::vector<Phase>> plans;
    std::vector<std::uint64_t> kinds;
    std::vector<TransferPlans*> owners;
  };

  std::vector<std::vector<Phase>> plan_op(const CollectiveOp& op) const;
  void add_hops(Plans& plans);
  // Collectives of one kind start together; 0: of a new one. Returns the kind.
  std::uint64_t add_op(Plans& plans, const CollectiveOp& op, std::uint64_t kind = 0);
  void add_ops(Plans& plans, const std::vector<CollectiveOp>& ops);
  void add_all_ops(Plans& plans, const ReplicaGroups& replica_groups);
  void add_calls(Plans& plans, const ReplicaGroups& replica_groups);
  template <class OpOf>
  void add_of_replicas(Plans& plans, const OpOf& op_of);
  // The folded plans from `first` on are those of `plans`.
  void take(const Plans& plans, const Folded& folded, std::size_t first = 0);
  void check_symmetry(const Plans& plans, const Folded& folded) const;

  const Job& job_;
  const RankPlacement& placement_;
  std::map<Hop, TransferPlans> hops_;
  std::map<OpKey, TransferPlans> ops_;
  Plans unfolded_;  // of one of several jobs
  std::uint64_t flows_ = 0;
  std::unordered_map<const cluster::Link*, std::uint32_t> represented_by_;
};

}  // namespace pipewright::execution
