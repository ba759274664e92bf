#pragma once

#include <cstdint>

namespace pipewright::cluster {

// State of the network that routes and rates refer to: with its failed and slow links, or as it was
// built. Communication libraries choose rings, algorithms and protocols for the network as built,
// since they do not see a slow cable.
enum class Condition : std::uint8_t { current, as_built };

}  // namespace pipewright::cluster
