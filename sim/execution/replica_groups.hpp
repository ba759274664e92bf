#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Groups of ranks that communicate with each other.
using RankGroups = std::vector<std::vector<std::uint32_t>>;

// Device copies that collectives synchronize, and the groups of ranks that run these collectives.
struct ProcessGroup {
  std::uint32_t members = 0;  // simulated device copies
  RankGroups groups;
};

// A collective that runs over several groups of ranks at once.
struct CollectiveOp {
  const RankGroups* groups;
  workload::Operation collective;
  std::uint64_t bytes;
  std::uint32_t times = 1;  // runs, one after the other
};

// Numbers of the replicas that a run simulates if no kinds of replicas are told apart: the first
// one of a symmetric job, or else all.
std::vector<std::uint32_t> first_replicas(const Job& job);

// Divides a job's device copies into process groups, on first use, and caches them. Jobs with the
// same ranks can share one object.
class ProcessGroups {
 public:
  using Group = workload::Group;

  // `simulated` are the replicas that the run simulates, ascending.
  ProcessGroups(const workload::Ranks& ranks, std::span<const std::uint32_t> simulated);

  const workload::Ranks& ranks() const { return ranks_; }
  // Number of the process group, among those for this kind of group, to which a device copy
  // belongs.
  std::uint32_t process_group_of(Group kind, ReplicaDevice copy);
  const ProcessGroup& process_group(Group kind, std::uint32_t number) {
    return process_groups(kind).groups[number];
  }
  // Process group of all device copies that hold the same parameters as the given devices: the
  // copies of a device, and, where two devices share a stage, the copies of both, rank by rank.
  // Copies of a shard stay separate, as each device has its own shards. Repeated calls with the
  // same devices return the same object.
  const ProcessGroup& holders(Group kind, const std::vector<std::uint32_t>& devices);
  // Groups of ranks, on a replica's first and last device, that share tied embeddings.
  const RankGroups& embedding(std::uint32_t replica);

 private:
  struct GroupsOfKind {
    std::vector<ProcessGroup> groups;
    std::vector<std::uint32_t> number_by_device;  // by replica and device
  };
  const GroupsOfKind& process_groups(Group kind);
  GroupsOfKind split(Group kind) const;

  workload::Ranks ranks_;
  std::vector<bool> is_simulated_;  // by replica
  std::array<GroupsOfKind, workload::group_kinds> groups_by_kind_;
  std::map<std::pair<Group, std::vector<std::uint32_t>>, ProcessGroup> holders_;
  std::vector<RankGroups> embedding_;  // by replica
};

// Finds out which parameters of a job several ranks hold, and which collectives keep the copies
// equal.
class ReplicaGroups {
 public:
  // Simulates the first replica of a symmetric job, or else all replicas.
  explicit ReplicaGroups(const Job& job);
  ReplicaGroups(const Job& job, std::vector<std::uint32_t> simulated);
  // Reuses process groups of other jobs with the same ranks.
  ReplicaGroups(const Job& job, std::shared_ptr<ProcessGroups> groups);

  const std::vector<std::uint32_t>& simulated() const { return simulated_; }  // replicas, ascending

  // True if several GPUs hold the stage's weights. holders() is the list of devices that hold them.
  bool has(std::uint32_t stage) const;
  std::uint32_t members(std::uint32_t stage) const { return dense_[stage].full->members; }
  const std::vector<std::uint32_t>& holders(std::uint32_t stage) const { return holders_[stage]; }
  // Numbers of buckets in which a stage's gradients are reduced, and its weights gathered. ZeRO-3
  // gathers as many layers at a time as it holds; weights that are gathered after the optimizer's
  // step form one bucket.
  std::uint32_t parts(std::uint32_t stage) const;
  std::uint32_t weight_parts(std::uint32_t stage) const;
  // Bytes of a bucket on one GPU.
  std::uint64_t gradient_bytes(std::uint32_t stage) const;
  std::uint64_t weight_bytes(std::uint32_t stage) const;
  std::uint64_t embedding_bytes() const;

  // Collectives of one bucket of a stage's gradients, of one bucket of its weights, and of a
  // replica's tied embeddings. They run one after the other: dense parameters, then experts. Sums
  // over copies of shards, if any, follow those of the shards, and gathers over copies precede
  // those of the shards; `with_copies` false leaves both out. Shards of weights are gathered
  // `times` times.
  std::vector<CollectiveOp> gradients(std::uint32_t stage, bool with_copies = true) const;
  std::vector<CollectiveOp> weights(std::uint32_t stage, bool with_copies = true,
                                    std::uint32_t times = 1) const;
  // Number of parts of a stage's weights that ZeRO-3 gathers ahead of the one in use.
  std::uint32_t parts_ahead(std::uint32_t stage) const {
    return job_.costs.gathers_ahead.empty() ? 1 : job_.costs.gathers_ahead[stage];
  }
  std::vector<CollectiveOp> embeddings(std::uint32_t replica) const;
  bool ties_embeddings(std::uint32_t device) const;
  double norm_latency() const { return norm_latency_; }  // seconds
  // Changes of the gathered stages of a device, for jobs that reshard stages. They are planned on
  // the first call.
  const schedules::UnshardPlan& unshard_plan(std::uint32_t device) const;

  // Number of the process group, among those for this kind of group, to which a device copy
  // belongs.
  std::uint32_t process_group_of(workload::Group kind, ReplicaDevice copy) const {
    return groups_->process_group_of(kind, copy);
  }
  const ProcessGroup& process_group(workload::Group kind, std::uint32_t number) const {
    return groups_->process_group(kind, number);
  }
  // A single collective of `call`, run by the process group of a device copy.
  CollectiveOp op(const workload::Call& call, ReplicaDevice copy) const {
    const std::uint32_t number = process_group_of(call.group, copy);
    return {&process_group(call.group, number).groups, call.collective, call.bytes};
  }
  // Other simulated replicas whose copy of this device is in the same process group.
  const std::vector<std::uint32_t>& replicas_with(workload::Group kind, ReplicaDevice copy) const;
  // Other replicas whose copy of this device is in the same process group, including those that are
  // not simulated.
  const std::vector<std::uint32_t>& all_replicas_with(workload::Group kind,
                                                      ReplicaDevice copy) const;

 private:
  // Process groups of a stage: all device copies that hold its parameters, those that hold one set
  // of shards, and those that hold copies of the same shard.
  struct Holders {
    const ProcessGroup* full;
    const ProcessGroup* shards;
    const ProcessGroup* copies;  // null: shards have no copies
  };
  Holders find_holders(const std::array<workload::Group, 3>& kinds, std::uint32_t stage);
  bool has_copies() const { return dense_.front().copies != nullptr; }
  // Number of parts in which a stage's weights arrive if ZeRO-3 gathers them for each pass; else
  // empty.
  std::optional<std::uint32_t> layers_at_once(std::uint32_t stage) const;
  std::vector<CollectiveOp> over_replicas(workload::Collective collective,
                                          const ProcessGroup* Holders::*holders,
                                          std::uint32_t stage, double bytes_of_parameter) const;

  // The same over the ranks with copies of a shard, each with the bytes of that shard.
  std::vector<CollectiveOp> over_copies(workload::Collective collective, std::uint32_t stage,
                                        double bytes_of_parameter) const;

  ReplicaGroups(const Job& job, std::vector<std::uint32_t> simulated,
                std::shared_ptr<ProcessGroups> groups);

  const Job& job_;
  std::vector<std::uint32_t> simulated_;
  std::shared_ptr<ProcessGroups> groups_;  // null without ranks
  double norm_latency_ = 0;
  std::vector<std::vector<std::uint32_t>> holders_;  // devices, by stage
  std::vector<Holders> dense_;                       // by stage
  std::vector<Holders> experts_;                     // by stage
  using OtherReplicas =
      std::map<std::pair<workload::Group, ReplicaDevice>, std::vector<std::uint32_t>>;
  mutable OtherReplicas replicas_with_;
  mutable OtherReplicas all_replicas_with_;
  mutable std::map<std::uint32_t, schedules::UnshardPlan> unshard_plans_;  // by device
};

}  // namespace pipewright::execution
