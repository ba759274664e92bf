#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/rows.hpp"

namespace pipewright::search {

// The results of shards of one sweep, each with its file's name, as one search's: the best of all,
// and proven if all shards are there and finished. Throws std::runtime_error where they are of
// other sweeps, or one is there twice.
analysis::SearchRun merge(std::vector<std::pair<std::string, analysis::SearchRun>> parts);

}  // namespace pipewright::search
