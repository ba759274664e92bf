#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/commlogs/pair_matrix.hpp"
#include "sim/comm/fair_share.hpp"

namespace pipewright::comm {

// Maximum number of GPU pairs that are all analyzed: 2,048 GPUs have 4.2 million pairs.
inline constexpr std::uint64_t max_complete_pairs = 4'500'000;

// Number of GPUs that use a shared link, over all pairs of GPUs.
struct LinkUse {
  std::uint32_t senders = 0;    // GPUs that can send over the link
  std::uint32_t receivers = 0;  // GPUs that can receive over the link
  std::uint32_t crossings = 0;  // largest number of crossings by one flow
  std::uint64_t across = 0;     // flows from the first half of the GPUs to the second half
};

struct Pairs {
  analysis::PairMatrix matrix;
  // indexed by link number in `paths`; empty unless all pairs are analyzed
  std::vector<LinkUse> use;
};

// Analyzes the route of every pair of GPUs. Above max_complete_pairs, each GPU is paired with a
// limited number of GPUs at evenly spaced distances. Calls progress(finished fraction) from time to
// time.
Pairs analyze_pairs(const Paths& paths, const std::function<void(double)>& progress = {});

}  // namespace pipewright::comm
