#pragma once

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// Whether flows over a link share its bandwidth. A FATPIPE link gives all of it to each.
bool is_shared(const Link* link);

}  // namespace pipewright::cluster
