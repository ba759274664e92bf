#pragma once

#include <vector>

#include "sim/execution/collectives/link_load.hpp"

namespace pipewright::execution {

// A phase of a collective of one byte, before it is known by which protocol it goes. What bytes
// take grows with them, but for trees; the latency does not.
struct PhaseCost {
  std::vector<Flow> flows;  // of payload
  ByProtocol latency{};
  double ends = 0;       // what it takes more than its flows, as a part of their time
  bool is_tree = false;  // reaches a part of the bandwidth that depends on the bytes
  bool is_raw = false;   // flows are of all bytes on the wire, whatever the protocol
};

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
