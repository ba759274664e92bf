#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/simgrid/flow_zone.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

// A cluster's hosts and links in SimGrid, which has them to the end of the process.
class Mirror {
 public:
  explicit Mirror(std::shared_ptr<cluster::Network> network);  // null: of an ideal network
  Mirror(const Mirror&) = delete;                              // SimGrid asks it for routes
  Mirror& operator=(const Mirror&) = delete;

  // Has links the bandwidths that the cluster's have by now, and adds the ends of routes that
  // Cluster::add_route() has made since. Not from an actor.
  void update();
  // Of a GPU or a port, or of such an end.
  sg4::Host* host(const cluster::Host* host) const;
  sg4::Link* link(const cluster::Link* link) const { return there_.links[link->number]; }

 private:
  void make();
  void append_links(const cluster::Host* source, const cluster::Host* destination,
                    std::vector<const sg4::Link*>& into);

  std::shared_ptr<cluster::Network> network_;
  std::string prefix_;  // of names, which SimGrid wants to be different
  cluster::InSimgrid there_;
  std::vector<double> bandwidths_;  // of its links
  cluster::FlowZone* ends_zone_ = nullptr;
  std::vector<sg4::Host*> ends_;
  std::vector<const cluster::Link*> asked_;
};

// The cluster's, as it is now: before a simulation.
Mirror& begin_mirror(const cluster::Cluster& cluster);
// The same while it goes on.
Mirror& mirror_of(const cluster::Cluster& cluster);

}  // namespace pipewright::execution
