#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/simgrid/flow_zone.hpp"
#include "sim/execution/flows/fold.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

// Copy of a cluster's hosts and links in SimGrid, which keeps them until the process ends. Hosts
// and links are created when they are first used, since a job often uses few of a large cluster.
class Mirror {
 public:
  explicit Mirror(std::shared_ptr<cluster::Network> network);  // null: ideal network
  Mirror(const Mirror&) = delete;  // SimGrid calls the object for routes
  Mirror& operator=(const Mirror&) = delete;

  // Updates the bandwidths of links to the cluster's current values, and forgets routes. Must not
  // be called from an actor.
  void update();
  // Makes these transfers cheaper to simulate: divides the bandwidth of links that all transfers
  // cross a multiple of 2, 4, 8, .. times by that number, so that SimGrid counts each crossing of
  // such a link once instead of that many times. With FoldedLinks::limiting, leaves out links that
  // never limit a rate. Rates stay the same, but for rounding. Until the next update(), no other
  // transfers may start. Must not be called from an actor.
  void prepare(std::span<const Transfer> transfers, FoldedLinks links);
  // Number by which the bandwidth of the link is divided.
  std::uint32_t divisor(const cluster::Link* link) const { return divisors_[link->number]; }
  // SimGrid's host for `host`, which is a GPU, a port or an end of an added route.
  sg4::Host* host(const cluster::Host* host);
  sg4::Link* link(const cluster::Link* link);

 private:
  void make_zone();
  void create_host(const cluster::Host& host);
  void set_bandwidth(const cluster::Link& link);
  const cluster::Host& host_at(std::uint32_t number) const;
  void append_links(const cluster::Host* source, const cluster::Host* destination,
                    std::vector<const sg4::Link*>& into);

  std::shared_ptr<cluster::Network> network_;
  std::string prefix_;                     // makes names unique in SimGrid
  std::vector<sg4::Host*> hosts_;          // by number, those of added routes last; null: none yet
  std::vector<sg4::Link*> links_;          // by number; null: none yet
  std::vector<double> bandwidths_;         // by link: its bandwidth before division
  std::vector<std::uint32_t> divisors_;    // by link
  std::vector<bool> is_idle_;              // by link: never limits a rate
  std::vector<std::uint32_t> crossings_;   // of one route, by link; 0 in between
  cluster::FlowZone* zone_ = nullptr;      // of the hosts and links that this object creates
  std::vector<std::uint32_t> zone_hosts_;  // numbers of the hosts in the zone
  std::vector<const cluster::Link*> route_buffer_;
};

// Returns the copy of the cluster in SimGrid, after an update(). Call it before a simulation.
Mirror& begin_mirror(const cluster::Cluster& cluster);
// Returns the copy without an update. Call it during a simulation.
Mirror& mirror_of(const cluster::Cluster& cluster);

}  // namespace pipewright::execution
