#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/draft.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::execution {

// One way to carry out a collective of one byte.
struct Way {
  Algorithm algorithm = Algorithm::ring;
  std::vector<Protocol> protocols;  // by which it can go
  std::vector<Draft> phases;
};

// The ways among which NCCL chooses the fastest, or the one by the algorithm that is asked for, or
// that it gives way to: see plan(). None for a group of one.
std::vector<Way> ways(workload::Collective kind, std::span<const std::uint32_t> members,
                      Algorithm algorithm, const Places& places);

}  // namespace pipewright::execution
