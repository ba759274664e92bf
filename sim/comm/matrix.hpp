#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/commlogs/pair_matrix.hpp"
#include "sim/comm/fair_share.hpp"

namespace pipewright::comm {

// More pairs than this are not looked at one by one: 2,048 GPUs have 4.2 million.
inline constexpr std::uint64_t most_pairs = 4'500'000;

// Who uses a shared link, over all pairs of GPUs.
struct LinkUse {
  std::uint32_t senders = 0;    // that can send over it, to anybody
  std::uint32_t receivers = 0;  // that can receive over it
  std::uint32_t crossings = 0;  // by one flow, at the most
  std::uint64_t across = 0;     // flows of pairs from the first half of the GPUs to the second
};

struct Pairs {
  analysis::PairMatrix matrix;
  std::vector<LinkUse> use;  // by the number of the link in `paths`; empty: not all pairs are known
};

// The way of every pair of GPUs; of more pairs than most_pairs, each GPU's to as many others as
// that allows, at evenly chosen distances. `step` is called now and then with the part that is
// done.
Pairs look_at_pairs(const Paths& paths, const std::function<void(double)>& step = {});

}  // namespace pipewright::comm
