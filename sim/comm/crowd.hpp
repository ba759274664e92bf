#pragma once

#include <cstdint>
#include <functional>

#include "sim/comm/matrix.hpp"
#include "sim/comm/permutation.hpp"

namespace pipewright::comm {

struct PermutationSearch {
  std::uint64_t seed = 1;
  std::uint64_t swaps = 0;               // to try; 0: by the number of GPUs, 1,000 to 20,000
  std::function<void(double)> progress;  // gets the part that is done, now and then
};

// What the network does when all GPUs send at once: two halves, and permutations, of which it looks
// for the one with the lowest total rate. The worst of hard_permutations() is made worse by swaps
// of two GPUs' receivers, chosen at random, that lower the total, or the slowest flow at the same
// total; it ends early if no permutation can be worse. The same seed gives the same answer. At
// least two GPUs.
analysis::Crowd crowd(Paths& paths, const Pairs& pairs, const PermutationSearch& search = {});

}  // namespace pipewright::comm
