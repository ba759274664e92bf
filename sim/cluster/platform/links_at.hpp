#pragma once

#include <vector>

#include "sim/cluster/platform/platform.hpp"

namespace pipewright::cluster {

// Links that fail together with an element of a platform file. A host takes its own links with it,
// which only routes from or to the host use. A switch also takes the links of its hosts, and a zone
// (a plane, a pod, a node) everything inside it.
std::vector<Index> links_at(const Platform& platform, Index vertex);

}  // namespace pipewright::cluster
