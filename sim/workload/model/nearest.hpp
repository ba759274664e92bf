#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace pipewright::workload
