#pragma once

#include <vector>

#include "sim/cluster/platform/platform.hpp"

namespace pipewright::cluster {

// The links that go down with a thing of a platform file. With a host its own ones, those that only
// routes from it or to it use. With a switch likewise, and those of the hosts around it. With a
// zone all inside of it as well: a plane, a pod, a node.
std::vector<Index> links_at(const Platform& platform, Index vertex);

}  // namespace pipewright::cluster
