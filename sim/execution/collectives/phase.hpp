#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/execution/collectives/rank_placement.hpp"

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

// A phase of a collective of one byte, before it is known by which protocol it goes. What bytes
// take grows with them, but for trees; the latency does not.
struct PhaseCost {
  std::vector<Flow> flows;  // of payload
  ByProtocol latency{};
  double ends = 0;       // what it takes more than its flows, as a part of their time
  bool is_tree = false;  // reaches a part of the bandwidth that depends on the bytes
  bool is_raw = false;   // flows are of all bytes on the wire, whatever the protocol
};

// How many bytes a byte of payload is on the wire: a flow's slowest link counts.
double on_wire(const PhaseCost& cost, const cluster::Route& route, Protocol protocol);

// The seconds of the most loaded link, if nothing else is on the network, for each byte.
ByProtocol transfer(const PhaseCost& cost, const RankPlacement& placement);

// What a phase of so many bytes takes on top of its flows' time `transfer`, which is of one byte:
// latency, a ring's ends, and what a tree loses.
double overhead(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol, double bytes);

// The phase of so many bytes by a protocol. `transfer` may be left at 0 for phase costs without
// ends that are no trees.
Phase phase_of(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol, double bytes,
               const RankPlacement& placement);

// Whether the platform file says anything of what messages cost. Where it does not, links and
// latencies are all there is, and NCCL's losses have no place.
bool has_message_costs(const cluster::MessageModel& model);

// The part of the bandwidth that trees of so many bytes reach in NCCL.
double tree_efficiency(Protocol protocol, double bytes);

}  // namespace pipewright::execution
