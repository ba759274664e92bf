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
  std::vector<ClusterFacts> facts;               // that the space was made with
  std::optional<std::filesystem::path> results;  // an HDF5 file
  bool resume = false;                           // with what is there
  Aim aim;
  std::optional<double> budget_s;
  std::vector<analysis::CandidateRow> known = {};  // of candidates of the space, in order
};

struct SearchCalls {
  std::function<void(const State&, const analysis::SearchRun&)> progress;  // often
  std::function<bool()> interrupted;
};

// Has the workers search the space until it is done, the budget is spent, or somebody interrupts.
// Beside the results, `<results>.journal` has each finished candidate as soon as it is known, until
// all of them are in the results; with `resume` both are read first. Throws trace::TraceError for
// what is wrong with these files, and std::runtime_error once no worker is left.
analysis::SearchRun run_search(const Space& space, Workers& workers, const SearchOptions& options,
                               const SearchCalls& calls);

}  // namespace pipewright::search
