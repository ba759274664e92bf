#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace pipewright::tests {

// A randomly drawn sweep, and the platform file of the small cluster on which it runs.
struct RandomSweep {
  std::string platform;               // Platform file in XML.
  std::uint32_t gpus = 0;             // GPUs of the cluster.
  std::uint32_t gpus_per_node = 0;    // GPUs of its first node.
  std::string gpu;                    // Type of its first GPU.
  std::string text;                   // YAML without `cluster`, `model` and the section `search`.
  std::vector<std::string> search;    // Entries of the section `search`.
  std::set<std::string_view> traits;  // The drawn ones of trait_names().
};

// Returns the names of the traits that random_sweep() can draw.
std::vector<std::string_view> trait_names();

// Draws a sweep that has the trait `trait` (modulo their number), unless other traits exclude it.
RandomSweep random_sweep(Random& random, std::size_t trait);

}  // namespace pipewright::tests
