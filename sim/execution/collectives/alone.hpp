#pragma once

#include <span>
#include <unordered_map>

#include "sim/execution/collectives/flow.hpp"
#include "sim/execution/collectives/places.hpp"

namespace pipewright::execution {

// What a phase puts on each link that its flows cross, in bytes. Of a FATPIPE link, which gives
// every flow its whole bandwidth: the bytes of its largest flow.
std::unordered_map<const cluster::Link*, double> loads(const Phase& phase, const Places& places);

// Seconds of a collective on an idle cluster: of each phase, those of its most loaded link, and the
// latency. Exact where the flows of a phase that share a link end together, as they do where its
// members are placed evenly; else a lower bound.
double alone(std::span<const Phase> phases, const Places& places);

}  // namespace pipewright::execution
