#pragma once

#include "sim/config/communication.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

Parameters stage_parameters(const ModelSetting& setting, const StageParts& stage);

// Ranks over which ZeRO (arXiv 1910.02054) spreads what it spreads: dp * cp of the dense
// parameters, and as many fewer of the experts' as there are ranks with other experts; of replicas
// of all shards, those of one.
struct ZeroGroups {
  std::uint32_t level = 0;
  double dense = 1;
  double experts = 1;
  // Weights stay whole beside their shards, and gradients until they are complete.
  bool keeps_weights = false;
};
ZeroGroups zero_groups(const config::Parallel& parallel, std::uint32_t device = 0);

// What a GPU keeps of that many parameters: optimizer state, gradients and weights cut from level
// 1, 2 and 3 on.
DeviceState state_of(const Parameters& parameters, const config::Training& training,
                     const ZeroGroups& zero);

// The parameters whose optimizer state one GPU has.
double updated_parameters(const Parameters& parameters, const ZeroGroups& zero);

// Of transfers and of collectives within passes: gradients of a boundary tensor on their way in and
// out, the gathered input of sequence parallelism, keys and values of other ranks of cp, of
// which one is at work while the next arrives; and scores where they are materialised. Of a slice,
// one of `slices` of a microbatch.
std::uint64_t buffer_bytes(const ModelSetting& setting, std::uint32_t devices,
                           std::uint32_t slices = 1);

// Workspaces of cuBLAS that are kept from the first product on: PyTorch's of the forward and of the
// backward pass's thread (32 MiB each on Hopper and later GPUs, CUBLAS_WORKSPACE_CONFIG) and
// Transformer Engine's (32 MiB there).
constexpr std::uint64_t workspace_bytes = 3ULL * 32 << 20U;

// Level 3, bytes: the weights of two neighbours among a stage's layers, embedding and head, the
// largest such pair: while one is at work, the other arrives.
std::uint64_t gathered_bytes(const ModelSetting& setting, const StageParts& stage,
                             const ZeroGroups& zero);

// In how many parts of about a bucket each a stage's gradients are reduced over `copies` ranks.
std::uint32_t gradient_parts(std::uint64_t dense_parameters, const config::Communication& talk,
                             std::uint32_t copies);

// Whether gradients are reduced by the layers of which weights are gathered, as FSDP has them,
// unless a bucket is given.
inline bool reduced_by_layer(const config::Parallel& parallel, const config::Communication& talk) {
  return parallel.shard && parallel.zero == 3 && !parallel.keeps_weights() && !talk.bucket;
}

// Whether a boundary tensor lies in parts on the ranks of tp when it is sent.
inline bool cuts_boundary(const config::Parallel& parallel, const config::Communication& talk) {
  return talk.scatter_gather || parallel.sequence;
}

// Levels 2 and 3, bytes: gradients before they are reduced to shards. A part is being reduced while
// the next one is made; without overlap all of the stage's wait for the end of the pass. Levels 0
// and 1 reduce gradients where they are summed.
std::uint64_t unsharded_gradient_bytes(const Parameters& stage, const config::Communication& talk,
                                       const ZeroGroups& zero);

}  // namespace pipewright::workload
