#pragma once

#include "sim/cluster/simgrid.hpp"

namespace pipewright::cluster {

// The process's one SimGrid engine, configured for flow-level GPU fabrics: plain bandwidth sharing
// (CM02) without the TCP terms that SimGrid fits to Ethernet clusters by default.
sg4::Engine& engine();

}  // namespace pipewright::cluster
