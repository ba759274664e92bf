#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "sim/execution/flows/fold.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/execution/replica_kinds.hpp"
#include "sim/execution/together.hpp"

namespace pipewright::execution {

// Planned flows of a job's traffic over the cluster. GPUs of a device run in lockstep; where their
// placement is symmetric, one flow stands for those of all GPUs (fold.hpp). In a symmetric run it
// also stands for those of all replicas of a kind.
class Wiring {
 public:
  using TransferPlans = std::vector<std::shared_ptr<const TransferPlan>>;

  // `links` are those of the folded flows where replicas of a kind are alike.
  Wiring(const Job& job, const RankPlacement& placement, const ReplicaKinds& kinds,
         const ReplicaGroups& replica_groups, FoldedLinks links);

  // Plans the flows of one of several jobs on a cluster, none of them symmetric. They are available
  // after fold_together().
  struct JointRun {};
  Wiring(const Job& job, const RankPlacement& placement, const ReplicaKinds& kinds,
         const ReplicaGroups& replica_groups, JointRun joint_run);
  // Folds the traffic of all jobs together, so that GPUs which other jobs' traffic affects
  // differently stay separate.
  static void fold_together(std::span<Wiring* const> wirings);
  // Kinds of replicas between which neither the job's messages nor its collectives make a
  // difference, so that replicas of a kind are at the same place of their schedule at all times.
  // Empty if there are more than `most` kinds, or if no replica can stand for its kind. `job` must
  // have the same work in all replicas.
  static std::optional<ReplicaKinds> find_alike(const Job& job, const RankPlacement& placement,
                                                std::size_t most, FoldedLinks links);
  // Links of the job's flows. Call it before fold_together().
  LinksOfJob links(const ReplicaGroups& replica_groups);

  // Transfer of a boundary tensor from a device to a neighbour. All GPUs of a device send at once.
  const TransferPlans& hop(ReplicaDevice source, std::uint32_t destination) const {
    return hops_.at({source, destination});
  }
  // Flows of a collective in all its groups of ranks.
  const TransferPlans& transfer_plans(const CollectiveOp& op);

  // Returns the transfers of all plans. From then on transfer_plans() throws if a collective has no
  // plan, as happens where microbatches differ.
  std::vector<Transfer> close();
  std::uint64_t flows() const { return flows_; }  // number of flows after folding
  // Number of equivalent links that this link stands for, including itself; 1 without folding.
  std::uint32_t represents(const cluster::Link* link) const;

 private:
  using Hop = std::pair<ReplicaDevice, std::uint32_t>;  // source and destination
  using OpKey = std::tuple<const RankGroups*, workload::Operation, std::uint64_t, std::uint32_t>;
  struct Plans {
    std::vector<std::vector<Phase>> plans;
    std::vector<std::uint64_t> kinds;
    std::vector<TransferPlans*> owners;
    // Replicas that take part in each plan; none where the whole job does.
    Participants participants;
  };

  std::vector<std::vector<Phase>> plan_op(const CollectiveOp& op) const;
  std::set<std::uint32_t> participants_of(const CollectiveOp& op) const;
  void add_hops(Plans& plans);
  // Adds a collective. Collectives of the same kind start together; 0 creates a new kind. Returns
  // the kind.
  std::uint64_t add_op(Plans& plans, const CollectiveOp& op, std::uint64_t kind = 0);
  void add_ops(Plans& plans, const std::vector<CollectiveOp>& ops);
  void add_all_ops(Plans& plans, const ReplicaGroups& replica_groups);
  void add_calls(Plans& plans, const ReplicaGroups& replica_groups);
  template <class OpOf>
  void add_op_per_replica(Plans& plans, const OpOf& op_of);
  // Stores the plans of `folded` from index `first` on, which were made from `plans`.
  void take(const Plans& plans, const Folded& folded, std::size_t first = 0);

  const Job& job_;
  const RankPlacement& placement_;
  const ReplicaKinds& kinds_;
  std::map<Hop, TransferPlans> hops_;
  std::map<OpKey, TransferPlans> ops_;
  Plans unfolded_;  // traffic of one of several jobs before folding
  std::uint64_t flows_ = 0;
  bool is_closed_ = false;
  std::unordered_map<const cluster::Link*, std::uint32_t> represented_by_;
};

}  // namespace pipewright::execution
