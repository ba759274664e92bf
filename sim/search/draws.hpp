#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/search/robustness.hpp"

namespace pipewright::search {

// Random numbers of one draw of conditions. A number depends only on the seed, the index of the
// draw and the name of the number, so that it is the same for all layouts, in any order and on any
// number of workers.
struct Chance {
  std::uint64_t seed = 1;
  std::uint64_t draw = 0;

  double uniform(std::string_view name) const;  // in [0, 1)
  double normal(std::string_view name) const;   // mean 0, standard deviation 1
};

// Draws the random conditions: a factor around 1 for the bandwidth of each class of links and one
// for the latency, both uniformly distributed, and with some probability a slow GPU.
std::vector<analysis::Draw> make_draws(const analysis::DrawSettings& settings,
                                       const std::vector<std::string>& link_classes);

}  // namespace pipewright::search
