#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace pipewright::execution {

// Where a flow leads: shared links by number, one that it crosses k times k times.
struct FlowPath {
  std::vector<std::uint32_t> links;
  double cap = std::numeric_limits<double>::infinity();  // bytes/s that links let each flow have
};

struct FairShare {
  static constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();
  double rate = 0;                     // bytes/s
  std::uint32_t held_up_by = no_link;  // the link that is full; none: the flow's own cap
};

// The max-min fair rates of flows: all grow alike until a link is full, which holds its flows where
// they are, and so on with the others (progressive filling; Bertsekas and Gallager, Data Networks,
// 2nd edition, section 6.5.2). It is how SimGrid shares links among flows without latency.
// `bandwidth[link]` in bytes/s. Keeps its memory from one use to the next.
class FairSharing {
 public:
  explicit FairSharing(std::vector<double> bandwidth);

  const std::vector<FairShare>& share(std::span<const FlowPath* const> flows);

 private:
  struct LinkState {
    double left = 0;              // bytes/s that no flow has got yet
    std::uint32_t crossings = 0;  // by flows that still grow
    std::uint32_t begin = 0;      // of its flows in flows_of_
    std::uint32_t end = 0;
  };
  void count(std::span<const FlowPath* const> flows);
  void hold(std::uint32_t flow, double rate, std::uint32_t link,
            std::span<const FlowPath* const> flows);

  std::vector<double> bandwidth_;
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> used_;                     // links that flows cross
  std::vector<std::uint32_t> flows_of_;                 // of all links
  std::vector<std::uint32_t> by_cap_;                   // flows with a cap, the lowest first
  std::vector<std::pair<double, std::uint32_t>> heap_;  // shares and links
  std::vector<FairShare> shares_;
};

}  // namespace pipewright::execution
