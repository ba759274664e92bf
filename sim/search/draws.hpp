#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/search/robustness.hpp"

namespace pipewright::search {

// Random numbers of a draw. A number depends on the seed, the draw and its name alone, so that it
// is the same for all layouts, in any order and on any number of workers.
struct Chance {
  std::uint64_t seed = 1;
  std::uint64_t draw = 0;

  double uniform(std::string_view name) const;  // in [0, 1)
  double normal(std::string_view name) const;   // mean 0, standard deviation 1
};

// The conditions of each draw: the bandwidth of each class of links and the latency are uniform
// around 1, and one GPU may be slow.
std::vector<analysis::Draw> make_draws(const analysis::DrawSettings& settings,
                                       const std::vector<std::string>& link_classes);

}  // namespace pipewright::search
