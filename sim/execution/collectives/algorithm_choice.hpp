#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase_cost.hpp"
#include "sim/workload/conditions.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::execution {

using config::Algorithm;

// An algorithm that can carry out a collective, and the phases of one byte by it.
struct AlgorithmChoice {
  Algorithm algorithm = Algorithm::ring;
  std::vector<Protocol> protocols;  // by which it can go
  std::vector<PhaseCost> phases;
};

// The algorithms among which NCCL chooses the fastest, or the one that is asked for, or that it
// gives way to: see plan(). None for a group of one.
std::vector<AlgorithmChoice> algorithm_choices(workload::Collective kind,
                                               std::span<const std::uint32_t> members,
                                               Algorithm algorithm, const RankPlacement& placement);

}  // namespace pipewright::execution
