#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace pipewright::tests {

// A small cluster, and a sweep that is at home on it.
struct RandomSweep {
  std::string platform;               // the cluster's file, in XML
  std::uint32_t gpus = 0;             // of the cluster
  std::uint32_t gpus_per_node = 0;    // of its first node
  std::string gpu;                    // type of the first
  std::string text;                   // YAML, but for `cluster`, `model` and the section `search`
  std::vector<std::string> search;    // entries of that section
  std::set<std::string_view> traits;  // what was drawn, of trait_names()
};

// All that random_sweep() can draw.
std::vector<std::string_view> trait_names();

// One that has this trait for certain, counted around, where others allow it.
RandomSweep random_sweep(Random& random, std::size_t trait);

}  // namespace pipewright::tests
