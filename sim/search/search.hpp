#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/search/coordinator.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

struct SearchOptions {
  std::vector<ClusterFacts> facts;               // facts that the space was made with
  std::optional<std::filesystem::path> results;  // an HDF5 file
  bool resume = false;                           // continue from the results
  Target target;
  std::optional<double> budget_s;
  std::vector<analysis::CandidateRow> known = {};  // known rows, in order of their candidates
};

struct SearchCalls {
  // Called several times a second, and once with the last state.
  std::function<void(const State&, const analysis::SearchRun&)> progress;
  std::function<bool()> interrupted;
};

// Searches the space with the workers until the search is done, the budget is spent, or
// `interrupted` returns true. The file `<results>.journal` receives each candidate as soon as it is
// finished and is deleted once all are in the results; with `resume`, the candidates of both files
// are read first and not evaluated again. Throws trace::TraceError for faults of these files, and
// std::runtime_error once no worker is left.
analysis::SearchRun run_search(const Space& space, Workers& workers, const SearchOptions& options,
                               const SearchCalls& calls);

}  // namespace pipewright::search
