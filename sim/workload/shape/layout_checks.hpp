#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// Returns numbers that an error message suggests instead of `value`: the nearest smaller one and
// the nearest larger one, between 1 and `limit`, for which is_legal(number) holds. There are at
// most two.
template <class IsLegal>
std::vector<std::uint32_t> nearest(std::uint32_t value, std::uint64_t limit,
                                   const IsLegal& is_legal) {
  std::vector<std::uint32_t> offers;
  const std::uint64_t top = limit < value ? limit + 1 : value;
  for (auto below = static_cast<std::uint32_t>(top); below-- > 1;)
    if (is_legal(below)) {
      offers.push_back(below);
      break;
    }
  for (std::uint64_t above = std::uint64_t{value} + 1; above <= limit; ++above)
    if (is_legal(static_cast<std::uint32_t>(above))) {
      offers.push_back(static_cast<std::uint32_t>(above));
      break;
    }
  return offers;
}

// Throws config::Error if model.parameters differs by more than 0.5 % from the count that the
// model's other keys imply.
void check_parameters(const config::Model& model);

// Returns whether every parallel size of the layout divides that dimension of the model which it
// splits, such as tp the heads.
bool layout_fits(const config::Model& model, const config::Training& training,
                 const config::Parallel& parallel);

// Additional condition on the layouts that an error message suggests, such as fitting a cluster or
// a batch.
using LayoutFits = std::function<bool(const config::Parallel&)>;

// Throws config::Error for the first parallel size of the layout that does not divide what it
// splits. The message has both numbers and the nearest sizes that satisfy all rules and, if
// possible, `accepts`.
void check_layout(const config::Model& model, const config::Training& training,
                  const config::Parallel& parallel, const LayoutFits& accepts = {});

// Returns a copy of the layout in which one axis has another size.
config::Parallel with_size(config::Parallel parallel, config::Axis axis, std::uint32_t size);

}  // namespace pipewright::workload
