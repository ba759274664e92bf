#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/execution/flows/fair_sharing.hpp"

namespace pipewright::comm {

using execution::FairShare;
using execution::FairSharing;
using execution::FlowPath;

// The ways between the GPUs of a cluster, with shared links by number.
class Paths {
 public:
  // `hosts` are numbered as they stand there; the cluster outlives this.
  Paths(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts);

  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  const std::vector<cluster::Host*>& hosts() const { return hosts_; }
  const cluster::Cluster& cluster() const { return cluster_; }
  cluster::Route route(std::uint32_t sender, std::uint32_t receiver) const {
    return cluster_.route(hosts_[sender], hosts_[receiver]);
  }

  // Looked up once, and kept.
  const FlowPath& path(std::uint32_t sender, std::uint32_t receiver);
  // The narrowest link of the way: what the flow gets alone.
  double alone(const FlowPath& path) const;
  // Puts a route's links, which becomes those of `path`, without keeping it.
  void find(const cluster::Route& route, FlowPath& path) const;

  const std::vector<const cluster::Link*>& links() const { return links_; }  // the shared ones
  const std::vector<double>& bandwidth() const { return bandwidth_; }        // of these

 private:
  const cluster::Cluster& cluster_;
  std::vector<cluster::Host*> hosts_;
  std::vector<const cluster::Link*> links_;
  std::vector<double> bandwidth_;
  std::unordered_map<const cluster::Link*, std::uint32_t> number_of_;
  std::unordered_map<std::uint64_t, FlowPath> known_;
};

}  // namespace pipewright::comm
