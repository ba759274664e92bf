#pragma once

#include <set>
#include <string>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/platform_file.hpp"

namespace pipewright::cluster {

// A file's zones of routing None, which have no ways. SimGrid ends the process when it is asked for
// one through them.
class EmptyZones {
 public:
  explicit EmptyZones(const PlatformFile& file);
  // Whether the way between two hosts would lead through one.
  bool are_between(const Host* a, const Host* b) const;

 private:
  std::set<std::string> names_;
};

}  // namespace pipewright::cluster
