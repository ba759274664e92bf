#pragma once

#include <set>
#include <string>

#include "sim/cluster/platform/platform_file.hpp"
#include "sim/cluster/simgrid/engine.hpp"

namespace pipewright::cluster {

// Zones of a platform file with routing="None", which have no routes. SimGrid ends the process when
// it computes a route through such a zone.
class EmptyZones {
 public:
  explicit EmptyZones(const PlatformFile& file);
  // Returns whether the route between two hosts would lead through a zone without routes.
  bool are_between(const sg4::Host* a, const sg4::Host* b) const;

 private:
  std::set<std::string> names_;
};

// Checks that SimGrid can load a file. SimGrid ends the process for some faults of a platform file
// or of its routes, so a child process loads the file first and computes routes between its zones.
// Throws Error with SimGrid's message and the line.
void probe(const PlatformFile& file);

}  // namespace pipewright::cluster
