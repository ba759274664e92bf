#pragma once

#include <string_view>

#include "sim/cluster/make/leaves.hpp"

namespace pipewright::cluster {

// Where its numbers come from, as lines of a comment.
std::string_view message_source();

// The properties of the outermost zone: what messages cost beside links, by the generation of
// NVLinks. A cluster of several kinds takes the longest times for all.
void write_message_costs(XmlText& xml, const PlatformRequest& request);

// Seconds that an operation of this kind takes before its first step.
double launch_of(const NodeKind& kind);

}  // namespace pipewright::cluster
