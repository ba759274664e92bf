#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "schedules/routes.hpp"

namespace pipewright::execution {

// The pairs of devices between which boundary tensors go, in both directions.
inline std::set<std::pair<std::uint32_t, std::uint32_t>> neighbours(
    const schedules::Routes& routes) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t route = 0; route < routes.count(); ++route)
    for (std::uint32_t stage = 0; stage + 1 < routes.stages(); ++stage) {
      const std::uint32_t a = routes.device(stage, route);
      const std::uint32_t b = routes.device(stage + 1, route);
      if (a != b) pairs.insert({{a, b}, {b, a}});
    }
  return pairs;
}

}  // namespace pipewright::execution
