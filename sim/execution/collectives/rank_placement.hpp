#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

// Where the ranks of a job are.
class RankPlacement {
 public:
  // `hosts[rank]`; the cluster outlives this.
  RankPlacement(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts);

  std::uint32_t size() const { return static_cast<std::uint32_t>(of_->hosts.size()); }
  std::uint32_t node(std::uint32_t rank) const { return of_->nodes[rank]; }
  std::uint32_t gpu_index(std::uint32_t rank) const { return of_->gpu_indices[rank]; }
  cluster::Host* host(std::uint32_t rank) const { return of_->hosts[rank]; }
  const cluster::Cluster& cluster() const { return cluster_; }
  cluster::Route route(std::uint32_t source, std::uint32_t destination) const {
    return cluster_.route(host(source), host(destination), numbers_);
  }
  double capacity_of(const cluster::Link* link) const {
    return cluster_.capacity_of(link, numbers_);
  }
  const cluster::MessageModel& model() const { return cluster_.model(numbers_); }
  std::optional<cluster::InSwitch> in_switch(const cluster::Route& route) const {
    return cluster_.in_switch(route, numbers_);
  }
  // The same placement on the network that NCCL reckons with when it chooses.
  RankPlacement expected() const {
    RankPlacement placement = *this;
    placement.numbers_ = cluster::Numbers::expected;
    return placement;
  }

  // Seconds of a message from rank to rank beside its bytes.
  double message_latency(const cluster::Route& route) const {
    return route.latency + model().launch + model().simple_launch + model().step;
  }

  // The members of a group, node by node: nodes in the order of the group's ranks, those of a node
  // in the order of its GPUs, so that those in the same place are on the same rail.
  std::vector<std::vector<std::uint32_t>> by_node(std::span<const std::uint32_t> members) const;

 private:
  struct OfRanks {
    std::vector<cluster::Host*> hosts;
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint32_t> gpu_indices;  // the hosts' positions among the cluster's GPUs
  };

  const cluster::Cluster& cluster_;
  std::shared_ptr<const OfRanks> of_;
  cluster::Numbers numbers_ = cluster::Numbers::actual;
};

}  // namespace pipewright::execution
