#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// What an error offers in place of `wanted`: the nearest number below and the nearest above it,
// from 1 to `most`, that `is_legal` lets through. None, one or two.
template <class IsLegal>
std::vector<std::uint32_t> nearest(std::uint32_t wanted, std::uint64_t most,
                                   const IsLegal& is_legal) {
  std::vector<std::uint32_t> found;
  const std::uint64_t top = most < wanted ? most + 1 : wanted;
  for (auto below = static_cast<std::uint32_t>(top); below-- > 1;)
    if (is_legal(below)) {
      found.push_back(below);
      break;
    }
  for (std::uint64_t above = std::uint64_t{wanted} + 1; above <= most; ++above)
    if (is_legal(static_cast<std::uint32_t>(above))) {
      found.push_back(static_cast<std::uint32_t>(above));
      break;
    }
  return found;
}

// Throws config::Error where the number of parameters that a model's file gives is off by more than
// 0.5 % of what its other keys come to.
void check_parameters(const config::Model& model);

// Whether each number of a layout divides what of the model it cuts.
bool layout_fits(const config::Model& model, const config::Training& training,
                 const config::Parallel& parallel);

// What else a layout has to suit before an error offers it: a cluster, a batch.
using LayoutFits = std::function<bool(const config::Parallel&)>;

// Throws config::Error, at the first number that does not: with both numbers and the nearest that
// would do by all rules, and `also` if there are such.
void check_layout(const config::Model& model, const config::Training& training,
                  const config::Parallel& parallel, const LayoutFits& also = {});

// A layout with another size of one axis.
config::Parallel with_size(config::Parallel parallel, config::Axis axis, std::uint32_t size);

}  // namespace pipewright::workload
