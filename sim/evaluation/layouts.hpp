#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/site.hpp"
#include "sim/execution/least_times.hpp"

namespace pipewright::evaluation {

// Assignment of a job's ranks to GPUs, with cached estimates of its communication.
struct Layout {
  Hardware hardware;
  std::optional<execution::LeastTimes> least_times;  // created for the first job
  // The same for bounds, which are lower at most: for the first order, and for the first sketch.
  std::optional<execution::LeastTimes> bound_times = {};
  std::optional<execution::LeastTimes> first_replica_times = {};
  std::optional<analysis::Site> site = {};  // created on first use
};

// Cache of the most recently used layouts. All share the one cluster that a process can load.
class Layouts {
 public:
  explicit Layouts(const config::Scenario& scenario);

  // Returns the scenario's layout; creates it if the cache does not hold it.
  Layout& find(const config::Scenario& scenario);
  // Empty: ideal network.
  const std::optional<cluster::Cluster>& cluster() const { return cluster_; }

 private:
  struct Entry {
    std::string key;
    Layout layout;
  };
  // Apply the scenario's multipath rule, or its variation of the network, to the cluster. A change
  // removes all layouts from the cache.
  void set_multipath(const config::Scenario& scenario);
  void set_network(const config::Variation& variation);

  std::optional<cluster::Cluster> cluster_;  // none: ideal network
  std::optional<std::uint32_t> nccl_of_file_;
  config::Variation network_;  // bandwidth, latency and links that the cluster currently has
  std::list<std::unique_ptr<Entry>> entries_;  // most recently used first
};

}  // namespace pipewright::evaluation
