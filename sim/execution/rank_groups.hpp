#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Which of a job's ranks talk with each other, worked out where it is asked for and kept: jobs with
// the same ranks can share it.
class RankGroups {
 public:
  using Group = workload::Group;
  using Groups = std::vector<std::vector<std::uint32_t>>;  // of ranks
  // Units that come together, and the groups of ranks that talk when they do.
  struct Party {
    std::uint32_t members = 0;  // simulated units
    Groups groups;
  };

  RankGroups(const workload::Ranks& ranks, std::uint32_t simulated_replicas);

  const workload::Ranks& ranks() const { return ranks_; }
  // The parties of a kind of group.
  std::uint32_t party_of(Group kind, Unit unit);
  const Party& party(Group kind, std::uint32_t number) { return parties(kind).all[number]; }
  // All who hold what these devices hold: the copies of a device, and, where there are two, those
  // of the other, rank by rank. The same devices give the same object.
  const Party& holders(Group kind, const std::vector<std::uint32_t>& devices);
  const Groups& embedding(std::uint32_t replica);  // which its first and last device share

 private:
  struct Parties {
    std::vector<Party> all;
    std::vector<std::uint32_t> of_unit;  // by replica and device
  };
  const Parties& parties(Group kind);
  Parties split(Group kind) const;

  workload::Ranks ranks_;
  std::uint32_t simulated_replicas_;
  std::array<Parties, workload::group_kinds> parties_;
  std::map<std::pair<Group, std::vector<std::uint32_t>>, Party> holders_;
  std::vector<Groups> embedding_;  // by replica
};

}  // namespace pipewright::execution
