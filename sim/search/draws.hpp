#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/search/robustness.hpp"

namespace pipewright::search {

// The numbers of one draw: each a function of the seed, the draw and what it is for alone, so that
// any layout, in any order, on any number of workers meets the same.
struct Chance {
  std::uint64_t seed = 1;
  std::uint64_t draw = 0;

  double uniform(std::string_view what) const;  // from 0 to below 1
  double normal(std::string_view what) const;   // of mean 0 and standard deviation 1
};

// The conditions of each draw: bandwidths of classes of links and latency uniform around 1, and by
// chance one slow GPU.
std::vector<analysis::Draw> make_draws(const analysis::DrawSettings& settings,
                                       const std::vector<std::string>& link_classes);

}  // namespace pipewright::search
