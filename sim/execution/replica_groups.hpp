#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/execution/process_groups.hpp"

namespace pipewright::execution {

// Who of a job's ranks holds what others hold as well, and what they say to each other about it.
class ReplicaGroups {
 public:
  explicit ReplicaGroups(const Job& job);
  // With groups of the job's ranks that others use as well.
  ReplicaGroups(const Job& job, std::shared_ptr<ProcessGroups> groups);

  // Whether other GPUs hold the stage's weights as well, and which devices do.
  bool has(std::uint32_t stage) const;
  std::uint32_t members(std::uint32_t stage) const { return dense_[stage]->members; }
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

  // What a part of a stage's gradients, or of its weights, and a replica's tied embedding take.
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
  // The other simulated replicas whose copy of the device is of the same process group.
  const std::vector<std::uint32_t>& replicas_with(workload::Group kind, ReplicaDevice who) const;

 private:
  std::vector<CollectiveOp> over_replicas(workload::Collective collective, std::uint32_t stage,
                                          double bytes_of_parameter) const;

  const Job& job_;
  std::shared_ptr<ProcessGroups> groups_;  // null without ranks
  double norm_latency_ = 0;
  std::vector<std::vector<std::uint32_t>> holders_;  // by stage: devices
  std::vector<const ProcessGroup*> dense_;           // by stage
  std::vector<const ProcessGroup*> experts_;         // likewise
  mutable std::map<std::pair<workload::Group, ReplicaDevice>, std::vector<std::uint32_t>>
      replicas_with_;
};

}  // namespace pipewright::execution
