#pragma once

#include <string_view>

#include "sim/cluster/make/leaves.hpp"

namespace pipewright::cluster {

// Text about the sources of the message costs, for the comment in a platform file.
std::string_view message_source();

// Writes the message costs as properties of the outermost zone, by NVLink generation. If a cluster
// has several kinds of nodes, the longest times apply to all.
void write_message_costs(XmlText& xml, const PlatformRequest& request);

// Launch latency of a collective on this kind of node, in seconds.
double launch_of(const NodeKind& kind);

}  // namespace pipewright::cluster
