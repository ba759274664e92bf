#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/execution/collectives/chunks.hpp"
#include "sim/execution/collectives/rank_placement.hpp"

namespace pipewright::execution {

struct Flow {
  std::uint32_t source = 0;  // rank
  std::uint32_t destination = 0;
  double bytes = 0;
};

// Phase of a collective: flows that run at once, followed by a latency in seconds. A ring of n
// ranks is one phase: its n - 1 steps follow each other without a gap, so that each edge carries
// its whole volume as one flow, and the latencies of the steps are paid at the end.
struct Phase {
  std::vector<Flow> flows;
  double latency = 0;
};

// Makes the phases of a collective those of `times` such collectives, one after the other.
void repeat(std::vector<Phase>& phases, std::uint32_t times);

// Adds up the bytes of flows between the same pair of ranks; keeps the order of first appearance.
class FlowSum {
 public:
  void add(std::uint32_t source, std::uint32_t destination, double bytes) {
    const std::uint64_t key = std::uint64_t{source} << 32U | destination;
    const auto [it, is_new] = index_of_.emplace(key, flows_.size());
    if (is_new) flows_.push_back({source, destination, 0});
    flows_[it->second].bytes += bytes;
  }
  std::vector<Flow> take() { return std::exchange(flows_, {}); }

 private:
  std::vector<Flow> flows_;
  std::unordered_map<std::uint64_t, std::size_t> index_of_;
};

using cluster::Protocol;

// Number of bytes or seconds for each protocol.
using ByProtocol = std::array<double, cluster::protocols>;

// Bytes that flows which run at once put on each link. Flows that share a link add up; a FATPIPE
// link gives every flow its whole bandwidth, so that its load is the largest flow.
class LinkLoads {
 public:
  explicit LinkLoads(const RankPlacement& placement) : placement_(placement) {}

  void add(const cluster::Route& route, const ByProtocol& bytes);
  void add(const cluster::Route& route, double bytes) {  // the same for all protocols
    ByProtocol same_bytes;
    same_bytes.fill(bytes);
    add(route, same_bytes);
  }

  using LoadByLink = std::unordered_map<const cluster::Link*, ByProtocol>;
  const LoadByLink& by_link() const& { return load_by_link_; }
  LoadByLink by_link() && { return std::move(load_by_link_); }
  // Seconds of the link that takes longest for its bytes: its bytes over its bandwidth.
  ByProtocol busiest_seconds() const;

 private:
  const RankPlacement& placement_;
  LoadByLink load_by_link_;
};

// Bytes that a phase puts on each link. Its flows count bytes on the wire, not payload.
LinkLoads loads(const Phase& phase, const RankPlacement& placement);

// Seconds of a collective on an idle cluster: the sum over phases of the busiest link's seconds and
// the latency. Exact where the flows of a phase that share a link end together, which they do if
// its members are placed evenly; else a lower bound.
double uncontended_seconds(std::span<const Phase> phases, const RankPlacement& placement);

// Phase of a collective of one byte, from which phase_of() computes the phase for any number of
// bytes and protocol. Flow time is proportional to bytes; latency is constant.
struct PhaseCost {
  std::vector<Flow> flows;  // bytes of payload
  ByProtocol latency{};
  // Time of a ring's ends or other copies, as a fraction of the flows' time.
  double ends = 0;
  // Seconds per byte that a chunk takes on its way through the levels of a tree, and the sizes of
  // chunks.
  ByProtocol level_seconds{};
  // Seconds that each further round of a ring takes in addition to its bytes.
  ByProtocol round_latency{};
  Chunking chunking;
  // Flows already count bytes on the wire, equal for all protocols, instead of payload.
  bool is_raw = false;
  // Many ranks exchange messages directly, so that links reach their direct_efficiency.
  bool is_direct = false;
};

// Ratio of bytes on the wire to bytes of payload, on the link of the route where it takes longest.
double on_wire(const PhaseCost& cost, const cluster::Route& route, Protocol protocol);

// Seconds that the busiest link takes per byte of the collective, on an otherwise idle network.
ByProtocol transfer(const PhaseCost& cost, const RankPlacement& placement);

// Seconds of a phase of `bytes` beyond the time of its flows: latency, the ends of a ring, and the
// way of a chunk through the levels of a tree. `transfer` is the flows' time for one byte.
double overhead(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol, double bytes);

// Computes the phase for `bytes` and a protocol. `transfer` may be left at 0 for costs without
// ends.
Phase phase_of(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol, double bytes,
               const RankPlacement& placement);

// True if the platform file states costs of messages. Where it does not, only links and latencies
// count, and NCCL's losses do not apply.
bool has_message_costs(const cluster::MessageModel& model);

}  // namespace pipewright::execution
