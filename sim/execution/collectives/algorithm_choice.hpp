#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
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
std::vector<AlgorithmChoice> algorithm_choices(const workload::Operation& kind,
                                               std::span<const std::uint32_t> members,
                                               Algorithm algorithm, const RankPlacement& placement);

// One of them, and a protocol of its.
struct AlgorithmProtocol {
  Algorithm algorithm = Algorithm::ring;
  cluster::Protocol protocol = cluster::Protocol::simple;
};
std::string to_string(const AlgorithmProtocol& choice);  // "ring, LL128"

}  // namespace pipewright::execution
