#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schedules/justify.hpp"

namespace pipewright::schedules {

// A search for the best order of passes of one pipeline, on any placement of its stages.
struct SearchRequest {
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;
  // Costs and memory of a placement, whatever the microbatches; none where the stages' times are
  // not known for it.
  std::function<std::optional<Pipeline>(const Routes&)> pipeline;
  Objective objective = Objective::makespan;
  double effort = 1;  // how many passes may be looked at, in units of the default
};

// The placements of stages that a search looks at: looped with one and two chunks, and the V.
std::vector<Routes> searched_placements(std::uint32_t devices);

struct SearchProgress {
  double share = 0;        // of the effort spent
  double best = 0;         // of the objective, in seconds; infinite before there is one
  double lower_bound = 0;  // likewise
};

struct SearchResult {
  Schedule schedule;
  std::string origin;  // "zb-v of the catalog", "block F+2 F+1 I+2 I+1 every 6"
  double makespan = 0;
  double span = 0;
  double lower_bound = 0;        // of the objective: no order on the placements tried is better
  std::uint64_t candidates = 0;  // orders that were tried
  bool interrupted = false;
};

// Whether it is of the kind that the search looks at: one copy of the weights, whole microbatches,
// no fused pairs.
bool is_searchable(const Schedule& schedule);

// Tries every schedule of the catalog that fits into memory and building blocks in the V and the
// looped shape; justifies them for the times and memory given (justify.hpp) and improves the best
// by local moves. `go_on` is asked now and then; when it says no, the best so far is returned.
// The same request gives the same answer. Throws Error if no order fits into memory, which says
// what the least is.
SearchResult search(const SearchRequest& request,
                    const std::function<bool(const SearchProgress&)>& go_on);

// The objective, in seconds, that no order found by search() is below; infinite if none fits into
// memory.
double lower_bound(const SearchRequest& request);

}  // namespace pipewright::schedules
