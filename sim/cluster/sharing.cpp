#include "sim/cluster/sharing.hpp"

#include "sim/cluster/simgrid.hpp"

namespace pipewright::cluster {

bool is_shared(const Link* link) {
  return link->get_sharing_policy() != sg4::Link::SharingPolicy::FATPIPE;
}

}  // namespace pipewright::cluster
