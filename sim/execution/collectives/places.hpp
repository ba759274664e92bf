#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

// Where the ranks of a job are.
class Places {
 public:
  // `hosts[rank]`; the cluster outlives this.
  Places(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts);

  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  std::uint32_t node(std::uint32_t rank) const { return nodes_[rank]; }
  std::uint32_t seat(std::uint32_t rank) const { return seats_[rank]; }
  cluster::Host* host(std::uint32_t rank) const { return hosts_[rank]; }
  const cluster::Cluster& cluster() const { return cluster_; }
  cluster::Route route(std::uint32_t source, std::uint32_t destination) const {
    return cluster_.route(hosts_[source], hosts_[destination]);
  }

  // Seconds of a message from rank to rank beside its bytes.
  double message_latency(const cluster::Route& route) const {
    const cluster::NetworkModel& model = cluster_.model();
    return route.latency + model.launch + model.step;
  }

  // The members of a group, node by node: nodes in the order of the group's ranks, those of a node
  // in the order of its GPUs, so that those in the same place are on the same rail.
  std::vector<std::vector<std::uint32_t>> by_node(std::span<const std::uint32_t> members) const;

 private:
  const cluster::Cluster& cluster_;
  std::vector<cluster::Host*> hosts_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> seats_;  // the hosts' places among the cluster's GPUs
};

}  // namespace pipewright::execution
