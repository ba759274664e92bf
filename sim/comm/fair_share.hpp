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

// Paths between the GPUs of a cluster, with shared links by number.
class Paths {
 public:
  // Hosts are numbered by their index. The cluster must outlive this object.
  Paths(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts);

  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }
  const std::vector<cluster::Host*>& hosts() const { return hosts_; }
  const cluster::Cluster& cluster() const { return cluster_; }
  cluster::Route route(std::uint32_t sender, std::uint32_t receiver) const {
    return cluster_.route(hosts_[sender], hosts_[receiver]);
  }

  // Path from sender to receiver; cached after the first call.
  const FlowPath& path(std::uint32_t sender, std::uint32_t receiver);
  // Rate of a flow without other traffic: that of the path's narrowest link.
  double uncontended_rate(const FlowPath& path) const;
  // Sets `path` to the links of a route, without caching it.
  void resolve(const cluster::Route& route, FlowPath& path) const;

  const std::vector<const cluster::Link*>& links() const { return links_; }  // shared links
  // capacity of each shared link
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
