#include "sim/cli/version.hpp"

#include "sim/cluster/cluster.hpp"

namespace pipewright::cli {

std::string versions() {
  return "pipewright " PIPEWRIGHT_VERSION ", " + cluster::simgrid_version();
}

}  // namespace pipewright::cli
