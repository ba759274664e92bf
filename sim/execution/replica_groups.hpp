#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

using RankGroups = std::vector<std::vector<std::uint32_t>>;  // ranks that talk with each other

// Device copies that come together in collectives, and the groups of ranks that these run over.
struct ProcessGroup {
  std::uint32_t members = 0;  // simulated device copies
  RankGroups groups;
};

// A collective over all groups at once.
struct CollectiveOp {
  const RankGroups* groups;
  workload::Operation collective;
  std::uint64_t bytes;
};

// Which of a job's ranks talk with each other, worked out where it is asked for and kept: jobs with
// the same ranks can share it.
class ProcessGroups {
 public:
  using Group = workload::Group;

  ProcessGroups(const workload::Ranks& ranks, std::uint32_t simulated_replicas);

  const workload::Ranks& ranks() const { return ranks_; }
  // The process groups of a kind.
  std::uint32_t process_group_of(Group kind, ReplicaDevice who);
  const ProcessGroup& process_group(Group kind, std::uint32_t number) {
    return process_groups(kind).all[number];
  }
  // All who hold what these devices hold: the copies of a device, and, where there are two, those
  // of the other, rank by rank, but for copies of a shard: each device has shards of its own. The
  // same devices give the same object.
  const ProcessGroup& holders(Group kind, const std::vector<std::uint32_t>& devices);
  const RankGroups& embedding(std::uint32_t replica);  // which its first and last device share

 private:
  struct GroupsOfKind {
    std::vector<ProcessGroup> all;
    std::vector<std::uint32_t> of_device;  // by replica and device
  };
  const GroupsOfKind& process_groups(Group kind);
  GroupsOfKind split(Group kind) const;

  workload::Ranks ranks_;
  std::uint32_t simulated_replicas_;
  std::array<GroupsOfKind, workload::group_kinds> of_kind_;
  std::map<std::pair<Group, std::vector<std::uint32_t>>, ProcessGroup> holders_;
  std::vector<RankGroups> embedding_;  // by replica
};

// Who of a job's ranks holds what others hold as well, and what they say to each other about it.
class ReplicaGroups {
 public:
  explicit ReplicaGroups(const Job& job);
  // With groups of the job's ranks that others use as well.
  ReplicaGroups(const Job& job, std::shared_ptr<ProcessGroups> groups);

  // Whether other GPUs hold the stage's weights as well, and which devices do.
  bool has(std::uint32_t stage) const;
  std::uint32_t members(std::uint32_t stage) const { return dense_[stage].all->members; }
  const std::vector<std::uint32_t>& holders(std::uint32_t stage) const { return holders_[stage]; }
  // In how many parts a stage's gradients are reduced, and its weights gathered: by buckets;
  // ZeRO-3's weights layer by layer, as many as it holds at a time. Weights that are gathered after
  // the optimizer's step come at once.
  std::uint32_t parts(std::uint32_t stage) const;
  std::uint32_t weight_parts(std::uint32_t stage) const;
  // The bytes of a part on one GPU.
  std::uint64_t gradient_bytes(std::uint32_t stage) const;
  std::uint64_t weight_bytes(std::uint32_t stage) const;
  std::uint64_t embedding_bytes() const;

  // What a part of a stage's gradients, or of its weights, and a replica's tied embedding take, one
  // after the other: the dense parameters' and the experts', then of both the sums over copies of
  // shards, if any.
  std::vector<CollectiveOp> gradients(std::uint32_t stage) const;
  std::vector<CollectiveOp> weights(std::uint32_t stage) const;
  std::vector<CollectiveOp> embeddings(std::uint32_t replica) const;
  bool ties_embeddings(std::uint32_t device) const;
  double norm_latency() const { return norm_latency_; }  // seconds

  // The process groups of a kind.
  std::uint32_t process_group_of(workload::Group kind, ReplicaDevice who) const {
    return groups_->process_group_of(kind, who);
  }
  const ProcessGroup& process_group(workload::Group kind, std::uint32_t number) const {
    return groups_->process_group(kind, number);
  }
  // One of a call's `times`, of a device's process group.
  CollectiveOp op(const workload::Call& call, ReplicaDevice who) const {
    const std::uint32_t number = process_group_of(call.group, who);
    return {&process_group(call.group, number).groups, call.collective, call.bytes};
  }
  // The other simulated replicas whose copy of the device is of the same process group.
  const std::vector<std::uint32_t>& replicas_with(workload::Group kind, ReplicaDevice who) const;
  // And all of them, in a symmetric run too.
  const std::vector<std::uint32_t>& all_replicas_with(workload::Group kind,
                                                      ReplicaDevice who) const;

 private:
  // Who holds the same parameters: all, those of one set of shards, and the copies of a shard.
  struct Holders {
    const ProcessGroup* all;
    const ProcessGroup* shards;
    const ProcessGroup* copies;  // null: there is one
  };
  Holders find_holders(const std::array<workload::Group, 3>& kinds, std::uint32_t stage);
  bool has_copies() const { return dense_.front().copies != nullptr; }
  // ZeRO-3: in how many parts a stage's weights come where it holds two at a time.
  std::optional<std::uint32_t> layers_at_once(std::uint32_t stage) const;
  std::vector<CollectiveOp> over_replicas(workload::Collective collective,
                                          const ProcessGroup* Holders::*who, std::uint32_t stage,
                                          double bytes_of_parameter) const;

  const Job& job_;
  std::shared_ptr<ProcessGroups> groups_;  // null without ranks
  double norm_latency_ = 0;
  std::vector<std::vector<std::uint32_t>> holders_;  // by stage: devices
  std::vector<Holders> dense_;                       // by stage
  std::vector<Holders> experts_;                     // likewise
  using OtherReplicas =
      std::map<std::pair<workload::Group, ReplicaDevice>, std::vector<std::uint32_t>>;
  mutable OtherReplicas replicas_with_;
  mutable OtherReplicas all_replicas_with_;
};

}  // namespace pipewright::execution
