#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/rows.hpp"

namespace pipewright::search {

// Merges the results of the shards of a sweep, each given with the name of its file, into the
// results of one search. Its best candidate counts as proven if all shards are present and
// finished. Throws std::runtime_error if the shards belong to different sweeps, or if a shard
// occurs twice.
analysis::SearchRun merge(std::vector<std::pair<std::string, analysis::SearchRun>> parts);

}  // namespace pipewright::search
