#pragma once

#include <vector>

#include "schedules/search/search.hpp"

namespace pipewright::schedules {

// The placements of stages that a search looks at: looped with one and two chunks, and the V.
std::vector<Routes> searched_placements(std::uint32_t devices);

// Whether some order of a pipeline's passes keeps within its memory.
bool fits(const Pipeline& pipeline);

// The objective, in seconds, that no order found by search() is below; infinite if none fits into
// memory.
double lower_bound(const SearchRequest& request);

}  // namespace pipewright::schedules
