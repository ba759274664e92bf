#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace pipewright::execution {

// Path of a flow: indices of the shared links that it crosses. A link that it crosses k times
// appears k times.
struct FlowPath {
  std::vector<std::uint32_t> links;
  double cap = std::numeric_limits<double>::infinity();  // limit of the unshared links, in bytes/s
};

struct FairShare {
  static constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();
  double rate = 0;                     // bytes/s
  std::uint32_t bottleneck = no_link;  // link that limits the flow; no_link: its own cap does
};

// Max-min fair rates of flows. All rates grow equally until a link is full, which fixes the rates
// of its flows; the others continue (progressive filling; Bertsekas and Gallager, Data Networks,
// 2nd edition, section 6.5.2). SimGrid shares links among flows without latency in the same way.
// `bandwidth[link]` is in bytes/s. The object reuses its memory between calls.
class FairSharing {
 public:
  explicit FairSharing(std::vector<double> bandwidth);

  const std::vector<FairShare>& share(std::span<const FlowPath* const> flows);

 private:
  struct LinkState {
    double remaining = 0;         // bytes/s that are not assigned yet
    std::uint32_t crossings = 0;  // crossings of flows whose rate still grows
    std::uint32_t begin = 0;      // range of the link's flows in flows_by_link_
    std::uint32_t end = 0;
  };
  void count(std::span<const FlowPath* const> flows);
  void fix(std::uint32_t flow, double rate, std::uint32_t link,
           std::span<const FlowPath* const> flows);

  std::vector<double> bandwidth_;
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> used_;                     // links that flows cross
  std::vector<std::uint32_t> flows_by_link_;            // flows of all links, grouped by link
  std::vector<std::uint32_t> by_cap_;                   // flows with a cap, lowest cap first
  std::vector<std::pair<double, std::uint32_t>> heap_;  // shares and links
  std::vector<FairShare> shares_;
};

}  // namespace pipewright::execution
