#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/execution/collectives/algorithm_choice.hpp"

// NCCL's own estimate of a collective's time, by which it chooses an algorithm and a protocol:
// ncclTopoTuneModel and ncclTopoGetAlgoTime of src/graph/tuning.cc, by version. The estimate may
// differ from the time that the collective takes.
namespace pipewright::execution {

// Properties of a group of ranks on which NCCL's estimate depends.
struct NcclView {
  std::uint32_t version = 0;     // 27 for 2.27
  bool is_rccl = false;          // AMD's RCCL, whose choices do not depend on the version here
  std::uint32_t generation = 0;  // NVLink generation; 0: PCIe
  double ranks = 2;
  double nodes = 1;
  double bus_bandwidth = 0;  // bus bandwidth of rings, bytes/s
  // Bandwidth of a GPU's links inside its node, bytes/s.
  double gpu_bandwidth = 0;
  double nic_bandwidth = 0;  // bandwidth of a route between two nodes, bytes/s
  // Latency of a step over the network in excess of InfiniBand's and RoCE's, in seconds.
  double nic_latency = 0;

  bool operator==(const NcclView&) const = default;
};

// Properties of a group for NCCL's model. Empty if the cluster states no NCCL version, or if the
// model does not cover one of the algorithms in `choices`. For all-reduces between nodes whose GPUs
// are joined by links of the class "xgmi", RCCL chooses.
std::optional<NcclView> nccl_view(workload::Collective kind, std::span<const std::uint32_t> members,
                                  const std::vector<AlgorithmChoice>& choices,
                                  const RankPlacement& placement);

// Value of NcclView::nic_latency for a network on which a step takes `step` seconds.
double nccl_network_latency(double step);

// NCCL's estimate of the time of a collective, in seconds; infinite where NCCL does not consider
// the algorithm and protocol. For RCCL, the algorithm and protocol in use has 0. NCCL has no
// estimate for direct messages, but uses LL up to a number of bytes and Simple from there on: the
// protocol in use has 0, the other one infinity.
double nccl_seconds(workload::Collective kind, const AlgorithmProtocol& choice, double bytes,
                    const NcclView& view);

}  // namespace pipewright::execution
