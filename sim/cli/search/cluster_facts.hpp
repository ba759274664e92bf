#pragma once

#include <vector>

#include "sim/search/space.hpp"

namespace pipewright::cli {

// What the clusters of a sweep are, each looked at in a process of its own. Throws config::Error.
std::vector<search::ClusterFacts> find_facts(const search::Sweep& sweep);

}  // namespace pipewright::cli
