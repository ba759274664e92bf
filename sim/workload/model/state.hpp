#pragma once

#include "sim/config/communication.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

Parameters stage_parameters(const ModelSetting& setting, const StageParts& stage);

// Numbers of ranks over which ZeRO (arXiv 1910.02054) shards state: dp * cp for dense parameters,
// and fewer for experts, divided by the number of ranks with different experts. With several copies
// of all shards, the ranks of one copy.
struct ZeroGroups {
  std::uint32_t level = 0;
  double dense = 1;
  double experts = 1;
  // Whole weights stay beside their shards, and whole gradients until they are complete.
  bool keeps_weights = false;
};
ZeroGroups zero_groups(const config::Parallel& parallel, std::uint32_t device = 0);

// State that a GPU holds for its parameters. ZeRO levels 1, 2 and 3 shard optimizer state,
// gradients and weights.
DeviceState state_of(const Parameters& parameters, const config::Training& training,
                     const ZeroGroups& zero);

// Number of parameters whose optimizer state is on one GPU.
double updated_parameters(const Parameters& parameters, const ZeroGroups& zero);

// Bytes of the buffers for transfers and for collectives within passes: incoming and outgoing
// gradients of a boundary tensor, the gathered input of sequence parallelism, keys and values of
// other ranks of cp (one block in use while the next arrives), and materialized scores. A slice is
// one of `slices` parts of a microbatch.
std::uint64_t buffer_bytes(const ModelSetting& setting, std::uint32_t devices,
                           std::uint32_t slices = 1);

// Bytes of cuBLAS workspaces, which stay allocated from the first product on: PyTorch's for the
// threads of the forward and of the backward pass (32 MiB each on Hopper and later GPUs,
// CUBLAS_WORKSPACE_CONFIG), and Transformer Engine's (32 MiB on the same GPUs).
constexpr std::uint64_t workspace_bytes = 3ULL * 32 << 20U;

// Bytes of gathered weights with ZeRO-3: the largest sum of two neighbours among a stage's
// embedding, layers and head, since one arrives while the other is in use.
std::uint64_t gathered_bytes(const ModelSetting& setting, const StageParts& stage,
                             const ZeroGroups& zero);

// Number of parts, of about one bucket each, in which a stage's gradients are reduced over `copies`
// ranks.
std::uint32_t gradient_parts(std::uint64_t dense_parameters,
                             const config::Communication& communication, std::uint32_t copies);

// Returns whether gradients are reduced by the layers whose weights are gathered, as in FSDP,
// instead of by buckets.
inline bool reduced_by_layer(const config::Parallel& parallel,
                             const config::Communication& communication) {
  return parallel.shard && parallel.zero == 3 && !parallel.keeps_weights() && !communication.bucket;
}

// Returns whether the ranks of tp each send a part of a boundary tensor.
inline bool cuts_boundary(const config::Parallel& parallel,
                          const config::Communication& communication) {
  return communication.scatter_gather || parallel.sequence;
}

// Bytes of gradients before they are reduced to shards, with ZeRO-2 and ZeRO-3. One part is reduced
// while the next is computed; without overlap, all gradients of the stage wait for the end of the
// pass. Levels 0 and 1 reduce gradients where they are summed.
std::uint64_t unsharded_gradient_bytes(const Parameters& stage,
                                       const config::Communication& communication,
                                       const ZeroGroups& zero);

}  // namespace pipewright::workload
