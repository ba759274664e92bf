#pragma once

#include <set>
#include <string>

#include "sim/cluster/platform/platform_file.hpp"
#include "sim/cluster/simgrid/engine.hpp"

namespace pipewright::cluster {

// A file's zones of routing None, which have no ways. SimGrid ends the process when it is asked for
// one through them.
class EmptyZones {
 public:
  explicit EmptyZones(const PlatformFile& file);
  // Whether the way between two hosts would lead through one.
  bool are_between(const sg4::Host* a, const sg4::Host* b) const;

 private:
  std::set<std::string> names_;
};

// SimGrid ends the process over some faults of a platform file, or of a route in it, instead of
// throwing. So a child process loads the file first, and asks for ways between its zones. Throws
// Error with what SimGrid says, and the line where it was, if that does not go well.
void probe(const PlatformFile& file);

}  // namespace pipewright::cluster
