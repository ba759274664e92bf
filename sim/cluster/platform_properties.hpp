#pragma once

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform_file.hpp"

namespace pipewright::cluster {

// Reads what the outermost zone says of messages, and has the links follow it. Throws Error with
// the property's line.
void read_model(const PlatformFile& file, Network& network);

// Throws Error, with the line of a GPU whose memory is no size.
void check_memory(const PlatformFile& file, const Network& network);

}  // namespace pipewright::cluster
