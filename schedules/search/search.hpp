#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schedules/justify.hpp"

namespace pipewright::schedules {

// Request to find the best order of passes of a pipeline, over all placements that are searched.
struct SearchRequest {
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;
  // Returns costs and memory of the pipeline on a placement; its number of microbatches is ignored.
  // Returns nothing if the stage times of the placement are not known.
  std::function<std::optional<Pipeline>(const Routes&)> pipeline;
  Objective objective = Objective::makespan;
  double effort = 1;  // Number of passes to process, relative to the default.
};

// Returns the placements that a search tries: looped with one and with two chunks per device, and
// the V.
std::vector<Routes> searched_placements(std::uint32_t devices);

struct SearchProgress {
  double share = 0;  // Share of the effort that is spent.
  // Least value of the objective so far, in seconds; infinite if there is no order yet.
  double best = 0;
  double lower_bound = 0;  // Lower bound of the objective for any order, in seconds.
};

struct SearchResult {
  Schedule schedule;
  std::string origin;  // "zb-v of the catalog", "block F+2 F+1 I+2 I+1 every 6".
  double makespan = 0;
  double span = 0;
  // Seconds of the objective that no order on the tried placements can beat.
  double lower_bound = 0;
  std::uint64_t candidates = 0;  // Number of orders tried.
  bool interrupted = false;
};

// Returns true if the search can find a schedule of this kind: one copy of the weights, whole
// microbatches, no fused pairs.
bool is_searchable(const Schedule& schedule);

// Tries every schedule of the catalog that fits into memory, and building blocks in the V and the
// looped shape. Improves them for the given times and memory by sweeps (justify.hpp), and the best
// one by moving single passes. Calls `go_on` regularly; when it returns false, the best order so
// far is the result. The same request gives the same result. Throws Error if no order fits into
// memory.
SearchResult search(const SearchRequest& request,
                    const std::function<bool(const SearchProgress&)>& go_on);

// Returns a lower bound in seconds for the objective of every order that search() can find;
// infinite if no order fits into memory.
double lower_bound(const SearchRequest& request);

}  // namespace pipewright::schedules
