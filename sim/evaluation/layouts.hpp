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

// Placement of ranks on GPUs, with cached properties of their communication.
struct Layout {
  Hardware hardware;
  std::optional<execution::LeastTimes> least_times;  // created for the first job
  std::optional<analysis::Site> site = {};           // created on first use
};

// Cache of recent layouts, on the process's only cluster.
class Layouts {
 public:
  explicit Layouts(const config::Scenario& scenario);

  // Layout of a scenario, created if it is not in the cache.
  Layout& find(const config::Scenario& scenario);
  // Empty: ideal network.
  const std::optional<cluster::Cluster>& cluster() const { return cluster_; }

 private:
  struct Entry {
    std::string key;
    Layout layout;
  };
  // Sets the multipath rule and the variation of the network. If they differ from the current ones,
  // all cached layouts become invalid.
  void set_multipath(const config::Scenario& scenario);
  void set_network(const config::Variation& variation);

  std::optional<cluster::Cluster> cluster_;  // none: ideal network
  std::optional<std::uint32_t> nccl_of_file_;
  config::Variation network_;  // bandwidth, latency and links that the cluster currently has
  std::list<std::unique_ptr<Entry>> entries_;  // most recently used first
};

}  // namespace pipewright::evaluation
