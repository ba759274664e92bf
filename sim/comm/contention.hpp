#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/pair_matrix.hpp"
#include "sim/comm/matrix.hpp"

namespace pipewright::comm {

using Permutation = std::vector<std::uint32_t>;  // the receiver of each GPU, which is another one

// Tells the max-min fair rates of permutations, one after the other.
class PermutationRates {
 public:
  explicit PermutationRates(Paths& paths) : paths_(paths), sharing_(paths.bandwidth()) {}

  struct Rates {
    double total = 0;                      // bytes/s
    double slowest = 0;                    // of all flows
    bool below(const Rates& other) const;  // clearly; the total counts first
  };
  Rates of(const Permutation& receiver_of);
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
Permutation shifted(std::uint32_t gpus, std::uint32_t by);
// Permutations that are known to be hard on networks: shifts, the reversed order, and the other
// half of the nodes on the next rail; and one in which each GPU in turn sends over the link that is
// the fullest by then.
std::vector<NamedPermutation> hard_permutations(Paths& paths);

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
analysis::Contention find_contention(Paths& paths, const Pairs& pairs,
                                     const PermutationSearch& search = {});

}  // namespace pipewright::comm
