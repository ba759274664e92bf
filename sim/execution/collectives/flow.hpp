#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

struct Flow {
  std::uint32_t source = 0;  // rank
  std::uint32_t destination = 0;
  double bytes = 0;
};

// What a collective is made of: flows that run at once, followed by a latency in seconds. A ring of
// n ranks is one phase: its n - 1 steps follow each other without a gap, so that each edge carries
// its whole volume as one flow, and what the steps' latencies add is paid at the end.
struct Phase {
  std::vector<Flow> flows;
  double latency = 0;
};

// A flow as SimGrid carries it.
struct Transfer {
  cluster::Host* source = nullptr;  // a GPU, or its NIC's port
  cluster::Host* destination = nullptr;
  std::uint64_t bytes = 0;
};

// Gathers flows, those of the same pair of ranks as one, in the order of their first mention.
class FlowSum {
 public:
  void add(std::uint32_t source, std::uint32_t destination, double bytes) {
    const std::uint64_t key = std::uint64_t{source} << 32U | destination;
    const auto [place, is_new] = place_of_.emplace(key, flows_.size());
    if (is_new) flows_.push_back({source, destination, 0});
    flows_[place->second].bytes += bytes;
  }
  std::vector<Flow> take() { return std::exchange(flows_, {}); }

 private:
  std::vector<Flow> flows_;
  std::unordered_map<std::uint64_t, std::size_t> place_of_;
};

}  // namespace pipewright::execution
