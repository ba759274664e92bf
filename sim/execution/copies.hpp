#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Who of a job's ranks holds what others hold as well, and what they say to each other about it.
class Copies {
 public:
  using Groups = std::vector<std::vector<std::uint32_t>>;  // of ranks
  // Units that come together, and the groups of ranks that talk when they do.
  struct Party {
    std::uint32_t members = 0;  // simulated units
    Groups groups;
  };
  // A collective over all groups at once.
  struct Leg {
    const Groups* groups;
    workload::Collective collective;
    std::uint64_t bytes;
  };

  explicit Copies(const Job& job);

  // Whether other GPUs hold the stage's weights as well, and which devices do.
  bool has(std::uint32_t stage) const;
  std::uint32_t members(std::uint32_t stage) const { return dense_[stage].members; }
  const std::vector<std::uint32_t>& holders(std::uint32_t stage) const { return holders_[stage]; }
  // In how many parts a stage's gradients are reduced, and the bytes of each on one GPU.
  std::uint32_t parts(std::uint32_t stage) const;
  std::uint64_t gradient_bytes(std::uint32_t stage) const;
  std::uint64_t weight_bytes(std::uint32_t stage) const;
  std::uint64_t embedding_bytes() const;

  // What a part of a stage's gradients, its weights, and a replica's tied embedding take.
  std::vector<Leg> gradients(std::uint32_t stage) const;
  std::vector<Leg> weights(std::uint32_t stage) const;
  std::vector<Leg> embeddings(std::uint32_t replica) const;
  bool ties_embeddings(std::uint32_t device) const;
  double norm_latency() const { return norm_latency_; }  // seconds

  // The parties of a kind of group.
  std::uint32_t party_of(workload::Group kind, Unit unit) const;
  const Party& party(workload::Group kind, std::uint32_t number) const {
    return parties_[static_cast<std::size_t>(kind)].all[number];
  }

 private:
  struct Parties {
    std::vector<Party> all;
    std::vector<std::uint32_t> of_unit;  // by replica and device
  };
  Parties split(workload::Group kind) const;
  Party of_stage(workload::Group kind, std::uint32_t stage) const;
  std::vector<Leg> over_copies(workload::Collective collective, std::uint32_t stage,
                               double bytes_of_parameter) const;

  const Job& job_;
  double norm_latency_ = 0;
  std::vector<std::vector<std::uint32_t>> holders_;  // by stage: devices
  std::array<Parties, workload::group_kinds> parties_;
  std::vector<Party> dense_;       // by stage
  std::vector<Party> experts_;     // likewise
  std::vector<Groups> embedding_;  // by replica
};

}  // namespace pipewright::execution
