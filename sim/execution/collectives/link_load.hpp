#pragma once

#include <array>
#include <span>
#include <unordered_map>
#include <utility>

#include "sim/execution/collectives/flow.hpp"
#include "sim/execution/collectives/rank_placement.hpp"

namespace pipewright::execution {

using cluster::Protocol;

// Bytes or seconds by each protocol.
using ByProtocol = std::array<double, cluster::protocols>;

// What flows that run at once put on the links that they cross, in bytes. Flows that share a link
// add up on it; a FATPIPE link gives every flow its whole bandwidth, so that its largest counts.
class LinkLoads {
 public:
  explicit LinkLoads(const RankPlacement& placement) : placement_(placement) {}

  void add(const cluster::Route& route, const ByProtocol& bytes);
  void add(const cluster::Route& route, double bytes) {  // whatever the protocol
    ByProtocol all;
    all.fill(bytes);
    add(route, all);
  }

  using OfLinks = std::unordered_map<const cluster::Link*, ByProtocol>;
  const OfLinks& of_links() const& { return of_; }
  OfLinks of_links() && { return std::move(of_); }
  // Of the busiest link: its bytes over its bandwidth.
  ByProtocol busiest_seconds() const;

 private:
  const RankPlacement& placement_;
  OfLinks of_;
};

// Of a phase, whose flows are of what is on the wire.
LinkLoads loads(const Phase& phase, const RankPlacement& placement);

// Seconds of a collective on an idle cluster: of each phase, those of its busiest link, and the
// latency. Exact where the flows of a phase that share a link end together, as they do where its
// members are placed evenly; else a lower bound.
double alone(std::span<const Phase> phases, const RankPlacement& placement);

}  // namespace pipewright::execution
