#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

// Maps a job's ranks to their hosts, nodes and routes in the cluster.
class RankPlacement {
 public:
  // `hosts` are by rank. The cluster must outlive this object.
  RankPlacement(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts);

  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_->hosts.size()); }
  std::uint32_t node(std::uint32_t rank) const { return ranks_->nodes[rank]; }
  std::uint32_t gpu_index(std::uint32_t rank) const { return ranks_->gpu_indices[rank]; }
  cluster::Host* host(std::uint32_t rank) const { return ranks_->hosts[rank]; }
  const cluster::Cluster& cluster() const { return cluster_; }
  cluster::Route route(std::uint32_t source, std::uint32_t destination) const {
    return cluster_.route(host(source), host(destination), numbers_, condition_);
  }
  double capacity_of(const cluster::Link* link) const {
    return cluster_.capacity_of(link, numbers_, condition_);
  }
  const cluster::MessageModel& model() const { return cluster_.model(numbers_); }
  std::optional<cluster::InSwitch> in_switch(const cluster::Route& route) const {
    return cluster_.in_switch(route, numbers_);
  }
  // Copy of this placement in the network as it was built, for which libraries choose rings and
  // algorithms.
  RankPlacement as_built() const {
    RankPlacement placement = *this;
    placement.condition_ = cluster::Condition::as_built;
    return placement;
  }
  // Returns whether routes or rates differ from those of as_built().
  bool has_faults() const {
    return condition_ == cluster::Condition::current && cluster_.has_faults();
  }
  // Copy of this placement with the link parameters that NCCL assumes when it chooses an algorithm.
  RankPlacement expected() const {
    RankPlacement placement = *this;
    placement.numbers_ = cluster::Numbers::expected;
    return placement;
  }

  // Seconds that a message takes in addition to the transfer of its bytes.
  double message_latency(const cluster::Route& route) const {
    return route.latency + model().launch + model().simple_launch + model().step;
  }

  // Members of a group by node. Nodes are in the order of the group's ranks, and the members of a
  // node in the order of its GPUs, so that members in the same position are on the same rail.
  std::vector<std::vector<std::uint32_t>> by_node(std::span<const std::uint32_t> members) const;

 private:
  struct RankTable {
    std::vector<cluster::Host*> hosts;
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint32_t> gpu_indices;  // the hosts' positions among the cluster's GPUs
  };

  const cluster::Cluster& cluster_;
  std::shared_ptr<const RankTable> ranks_;
  cluster::Numbers numbers_ = cluster::Numbers::actual;
  cluster::Condition condition_ = cluster::Condition::current;
};

}  // namespace pipewright::execution
