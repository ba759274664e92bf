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

// Caches the paths between the GPUs of a cluster, as numbers of shared links.
class Paths {
 public:
  // Hosts are numbered by their index in `hosts`. The cluster must outlive this object.
  Paths(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts);

  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  const std::vector<cluster::Host*>& hosts() const { return hosts_; }
  const cluster::Cluster& cluster() const { return cluster_; }
  cluster::Route route(std::uint32_t sender, std::uint32_t receiver) const {
    return cluster_.route(hosts_[sender], hosts_[receiver]);
  }

  // Path from sender to receiver; cached after the first call.
  const FlowPath& path(std::uint32_t sender, std::uint32_t receiver);
  // Rate of a flow without other traffic, in bytes/s: the bandwidth of the narrowest link on its
  // path.
  double uncontended_rate(const FlowPath& path) const;
  // Converts a route to a path of shared links, without caching it.
  void resolve(const cluster::Route& route, FlowPath& path) const;

  const std::vector<const cluster::Link*>& links() const { return links_; }  // shared links
  // capacity of each shared link, in bytes/s
  const std::vector<double>& bandwidth() const { return bandwidth_; }

 private:
  const cluster::Cluster& cluster_;
  std::vector<cluster::Host*> hosts_;
  std::vector<const cluster::Link*> links_;
  std::vector<double> bandwidth_;
  std::unordered_map<const cluster::Link*, std::uint32_t> number_of_;
  std::unordered_map<std::uint64_t, FlowPath> paths_;
};

}  // namespace pipewright::comm
