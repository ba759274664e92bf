#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::execution {

using config::Algorithm;

// Algorithm that can run a collective, with its protocols and its phases for a collective of one
// byte.
struct AlgorithmChoice {
  Algorithm algorithm = Algorithm::ring;
  std::vector<Protocol> protocols;  // protocols that the algorithm supports here
  std::vector<PhaseCost> phases;
};

// Algorithms that may run a collective: those among which NCCL chooses the fastest, or the single
// requested algorithm or its replacement (see plan()). Empty for a group of one rank.
std::vector<AlgorithmChoice> algorithm_choices(const workload::Operation& kind,
                                               std::span<const std::uint32_t> members,
                                               Algorithm algorithm, const RankPlacement& placement);

// Algorithm together with one of the protocols by which it can run.
struct AlgorithmProtocol {
  Algorithm algorithm = Algorithm::ring;
  cluster::Protocol protocol = cluster::Protocol::simple;
};
std::string to_string(const AlgorithmProtocol& choice);  // "ring, LL128"

}  // namespace pipewright::execution
