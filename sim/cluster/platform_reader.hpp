#pragma once

#include <optional>

#include "sim/cluster/platform.hpp"
#include "sim/cluster/platform_file.hpp"

namespace pipewright::cluster {

// Reads the part of SimGrid's language that GPU clusters are written in: <zone> with routing Full
// or None, or with Floyd or Dijkstra where the routes form no circle, <cluster>, flat or a torus,
// <host>, <router>, <link>, <route>, <zoneRoute> and <prop>. None of a file with anything else in
// it, which only SimGrid itself can read. Throws Error with file and line for what SimGrid would
// not accept.
std::optional<Platform> read_platform(const PlatformFile& file);

}  // namespace pipewright::cluster
