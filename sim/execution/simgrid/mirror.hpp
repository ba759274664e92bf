#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/simgrid/flow_zone.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

// Copy of a cluster's hosts and links in SimGrid, which keeps them until the process ends.
class Mirror {
 public:
  explicit Mirror(std::shared_ptr<cluster::Network> network);  // null: ideal network
  Mirror(const Mirror&) = delete;  // SimGrid calls the object for routes
  Mirror& operator=(const Mirror&) = delete;

  // Updates the bandwidths of links to the cluster's current values, and adds the ends of routes
  // that Cluster::add_route() has created since. Must not be called from an actor.
  void update();
  // SimGrid's host for `host`, which is a GPU, a port or an end of an added route.
  sg4::Host* host(const cluster::Host* host) const;
  sg4::Link* link(const cluster::Link* link) const { return objects_.links[link->number]; }

 private:
  void make();
  void append_links(const cluster::Host* source, const cluster::Host* destination,
                    std::vector<const sg4::Link*>& into);

  std::shared_ptr<cluster::Network> network_;
  std::string prefix_;  // makes names unique in SimGrid
  cluster::InSimgrid objects_;
  std::vector<double> bandwidths_;  // current bandwidths of the links
  cluster::FlowZone* ends_zone_ = nullptr;
  std::vector<sg4::Host*> ends_;
  std::vector<const cluster::Link*> route_buffer_;
};

// Returns the copy of the cluster in SimGrid, after an update(). Call it before a simulation.
Mirror& begin_mirror(const cluster::Cluster& cluster);
// Returns the copy without an update. Call it during a simulation.
Mirror& mirror_of(const cluster::Cluster& cluster);

}  // namespace pipewright::execution
