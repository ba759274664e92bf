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

// Ranks on their GPUs, and what was found out of their traffic.
struct Layout {
  Hardware hardware;
  std::optional<execution::LeastTimes> least;  // once there was a job
  std::optional<analysis::Site> site = {};     // once it was asked for
};

// The layouts that came last, on the process's one cluster.
class Layouts {
 public:
  explicit Layouts(const config::Scenario& first);

  Layout& of(const config::Scenario& scenario);
  const std::optional<cluster::Cluster>& cluster() const { return cluster_; }  // none: ideal

 private:
  struct Entry {
    std::string key;
    Layout layout;
  };
  // These may be others than before, and then nothing of before holds.
  void set_ways(const config::Scenario& scenario);
  void set_network(const config::Variation& variation);

  std::optional<cluster::Cluster> cluster_;  // else the ideal network
  std::optional<std::uint32_t> nccl_of_file_;
  config::Variation network_;                  // bandwidth, latency and links as the cluster now is
  std::list<std::unique_ptr<Entry>> entries_;  // the last used first
};

}  // namespace pipewright::evaluation
