#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/execution/collectives/algorithm_choice.hpp"

// What NCCL itself takes a collective to take, by which it chooses an algorithm and a protocol:
// ncclTopoTuneModel and ncclTopoGetAlgoTime of src/graph/tuning.cc, by version. It need not be what
// a collective takes.
namespace pipewright::execution {

// A group as NCCL sees it.
struct NcclView {
  std::uint32_t version = 0;     // 27 of 2.27
  std::uint32_t generation = 0;  // of its NVLinks; 0: PCIe
  double ranks = 2;
  double nodes = 1;
  double bus_bandwidth = 0;  // of rings, bytes/s
  double gpu_bandwidth = 0;  // of a GPU's links inside its node, bytes/s
  double nic_latency = 0;    // seconds of a step over the network beyond the usual ones

  bool operator==(const NcclView&) const = default;
};

// None where the cluster names no version, or where NCCL has nothing to say of an algorithm that is
// among the choices.
std::optional<NcclView> nccl_view(workload::Collective kind, std::span<const std::uint32_t> members,
                                  const std::vector<AlgorithmChoice>& choices,
                                  const RankPlacement& placement);

// NcclView::nic_latency where a step over the network takes so long.
double nccl_network_latency(double step);

// Seconds; infinite where it is not among those to choose from. Of messages that go directly NCCL
// knows no time, but takes LL up to so many bytes and Simple from there on: 0, and infinite.
double nccl_seconds(workload::Collective kind, const AlgorithmProtocol& by, double bytes,
                    const NcclView& view);

}  // namespace pipewright::execution
