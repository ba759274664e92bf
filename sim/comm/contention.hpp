#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/pair_matrix.hpp"
#include "sim/comm/matrix.hpp"

namespace pipewright::comm {

using Permutation = std::vector<std::uint32_t>;  // receiver of each GPU, never the GPU itself

// Computes the max-min fair rates of the flows when every GPU sends to one receiver, by a
// permutation of the GPUs.
class PermutationRates {
 public:
  explicit PermutationRates(Paths& paths) : paths_(paths), sharing_(paths.bandwidth()) {}

  struct Rates {
    double total = 0;                       // bytes/s
    double slowest = 0;                     // rate of the slowest flow
    bool is_below(const Rates& rhs) const;  // clearly lower; compares totals first
  };
  Rates rates_of(const Permutation& receiver_of);
  analysis::PermutationFigures figures(const Permutation& receiver_of);

 private:
  std::span<const FairShare> share(const Permutation& receiver_of);

  Paths& paths_;
  FairSharing sharing_;
  std::vector<const FlowPath*> flows_;
};

struct NamedPermutation {
  std::string name;  // "shift by 8"
  Permutation receiver_of;
};
Permutation shift_permutation(std::uint32_t gpus, std::uint32_t distance);
// Permutations of receivers that cause much contention: shifts, the reversed order, the next rail
// of the other half of the nodes, and a greedy one in which each GPU in turn sends over the link
// that is fullest so far.
std::vector<NamedPermutation> hard_permutations(Paths& paths);

struct PermutationSearch {
  std::uint64_t seed = 1;
  std::uint64_t swaps = 0;  // swaps to try; 0 chooses 1,000 to 20,000 by the number of GPUs
  std::function<void(double)> progress;  // receives the finished fraction from time to time
};

// Computes the bandwidth of the network when all GPUs send at the same time: between two halves,
// and in permutations, among which it searches for the lowest total rate. The search starts from
// the worst of hard_permutations() and applies random swaps of two GPUs' receivers that lower the
// total, or the slowest flow at the same total; it ends early if no permutation can be worse. The
// same seed gives the same result. Needs at least two GPUs.
analysis::Contention find_contention(Paths& paths, const Pairs& pairs,
                                     const PermutationSearch& search = {});

}  // namespace pipewright::comm
