#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/comm/pair_matrix.hpp"
#include "sim/comm/paths.hpp"

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

}  // namespace pipewright::comm
