#include "schedules/search/placements.hpp"

#include <algorithm>
#include <limits>

#include "schedules/search/bound.hpp"

namespace pipewright::schedules {

std::vector<Routes> searched_placements(std::uint32_t devices) {
  return {Routes::looped(devices, 1), Routes::looped(devices, 2), Routes::v_shape(devices)};
}

bool fits(const Pipeline& pipeline) {
  const std::vector<std::int64_t> least = least_memory(pipeline);
  for (std::uint32_t device = 0; device < pipeline.devices; ++device)
    if (least[device] > pipeline.memory.limit[device]) return false;
  return true;
}

double lower_bound(const SearchRequest& request) {
  double least = std::numeric_limits<double>::infinity();
  for (const Routes& routes : searched_placements(request.devices)) {
    std::optional<Pipeline> pipeline = request.pipeline(routes);
    if (!pipeline || !fits(*pipeline)) continue;
    pipeline->microbatches = request.microbatches;
    least = std::min(least, lower_bound(*pipeline, request.objective));
  }
  return least;
}

}  // namespace pipewright::schedules
