#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  workload::Collective collective;
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
  // of the other, rank by rank. The same devices give the same object.
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

}  // namespace pipewright::execution
