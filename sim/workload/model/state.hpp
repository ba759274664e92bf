#pragma once

#include <optional>

#include "schedules/unshard.hpp"
#include "sim/config/communication.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

Parameters stage_parameters(const ModelSetting& setting, const StageParts& stage);

// Returns the parameters of a whole model, with those of adapters, and how many of them are frozen.
Parameters whole_parameters(const config::Model& model, const config::Training& training);

// Numbers of ranks over which ZeRO (arXiv 1910.02054) shards state: dp * cp ranks for dense
// parameters, and fewer for those of experts: this number divided by that of the ranks with
// different experts. If there are several copies of all shards, each is the number of ranks of one
// copy.
struct ZeroGroups {
  std::uint32_t level = 0;
  double dense = 1;
  double experts = 1;
  // Numbers of copies of each shard that divide its optimizer state (parallel.outer_sharding).
  double copies = 1;
  double expert_copies = 1;
  // True if whole weights stay in memory beside their shards, and whole gradients until they are
  // complete.
  bool keeps_weights = false;
  // True if only some of these whole weights are in memory at a time (unshard_windows()).
  bool reshards_stages = false;
};
ZeroGroups zero_groups(const config::Parallel& parallel, std::uint32_t device = 0);

// Returns the memory that a GPU needs for its weights, gradients and optimizer state. ZeRO level 1
// shards the optimizer state, level 2 also the gradients, level 3 also the weights.
DeviceState state_of(const Parameters& parameters, const config::Training& training,
                     const ZeroGroups& zero);

// Returns the number of weight tensors of a stage that are trained: of each layer Q, K and V
// together, output, gate and up together, down, two norms, and the biases; the embedding; the last
// norm and the head. Each adapter has two.
std::uint64_t weight_tensors(const ModelSetting& setting, const StageParts& stage);

// Returns the bytes of all of these weights as ZeRO-3 gathers them.
double gathered_bytes(const Parameters& parameters, const config::Training& training);

// Returns the number of parameters whose optimizer state is on one GPU.
double updated_parameters(const Parameters& parameters, const ZeroGroups& zero);
// Returns the additional bytes that updates move for weights whose products have other data types
// than the recipe's.
double updated_other_bytes(const Parameters& parameters, const ZeroGroups& zero);

// Returns the bytes of the buffers for transfers and for collectives within passes: incoming and
// outgoing gradients of a boundary tensor, the gathered input of sequence parallelism, keys and
// values of other ranks of cp (one block in use while the next arrives), and materialized scores,
// and the largest matrix that is dequantized. A slice is one of `slices` parts of a microbatch.
std::uint64_t buffer_bytes(const ModelSetting& setting, std::uint32_t devices,
                           std::uint32_t slices = 1);

// Weights of a stage that ZeRO-3 holds gathered at a time.
struct GatherWindow {
  std::uint64_t bytes = 0;
  std::uint32_t ahead = 1;     // Number of parts of the stage that arrive while one is in use.
  std::uint32_t matrices = 0;  // Number of matrices that are gathered one by one; 0: layers are.
};
// Returns the largest window of a stage over its embedding, layers and head: the part in use, and
// the parts after it that parallel.gather_ahead gathers. Generalized tensor parallelism gathers
// single matrices, one ahead, and the experts of whole layers, one layer ahead.
GatherWindow gather_window(const ModelSetting& setting, const StageParts& stage,
                           const config::Parallel& parallel, const ZeroGroups& zero);

// Returns the bytes of tensors whose freeing NCCL delays (stack.memory.delayed_frees) in a pass
// through this number of layers. With sequence parallelism these are the results of two products of
// each layer, before they are summed and scattered.
std::uint64_t delayed_bytes(const ModelSetting& setting, std::uint32_t layers);

// Returns the bytes of unused gradients of a stage's weights (stack.memory.unused_gradients): 2
// bytes per element of each different shape, those of the output layer included.
std::uint64_t unused_gradient_bytes(const ModelSetting& setting, const StageParts& stage);

// Returns the bytes of copies in a scaled data type of the largest part of a stage, if its weights
// are cast each time that they are gathered.
std::uint64_t cast_bytes(const ModelSetting& setting, const StageParts& stage,
                         const ZeroGroups& zero);

// Returns into how many parts of about one bucket a stage's gradients are divided, which are
// reduced over `copies` ranks one after the other.
std::uint32_t gradient_parts(std::uint64_t dense_parameters,
                             const config::Communication& communication, std::uint32_t copies);

// Returns whether the gradients of each layer are reduced together, as in FSDP, where the weights
// of a layer are also gathered together, instead of in buckets of a fixed size.
inline bool reduced_by_layer(const config::Parallel& parallel,
                             const config::Communication& communication) {
  return parallel.gtp || (parallel.shard && parallel.zero == 3 && !parallel.keeps_weights() &&
                          !communication.bucket);
}

// Returns the bytes of a gradient that generalized tensor parallelism reduces to shards: those of
// bf16, whatever the type of the gradients' sum (gtp_remat, docs/api-guide/core/
// generalized_tensor_parallel.md of Megatron-LM, section 1.3). 0: communication.gradient_bytes.
inline std::uint64_t shard_gradient_bytes(const config::Parallel& parallel) {
  return parallel.gtp ? 2 : 0;
}

// Returns how often a backward pass gathers each weight (traffic.hpp). Layers that generalized
// tensor parallelism recomputes gather their weights for the forward products again, and for the
// backward ones (section 3.1 of the same page).
inline std::uint32_t backward_gathers(const config::Parallel& parallel,
                                      const config::Training& training) {
  const bool recomputes = training.recompute.granularity == config::Recompute::Granularity::full;
  return parallel.gtp && recomputes ? 2 : 1;
}

// Returns by device which of its stages are gathered at a time, if stages of some device are
// gathered one by one during an iteration. Empty: all stages stay gathered.
std::vector<schedules::UnshardWindow> unshard_windows(const config::Parallel& parallel,
                                                      const schedules::Routes& routes);

// Returns whether the tp ranks of a stage each send only a part of a boundary tensor to the next
// stage.
inline bool cuts_boundary(const config::Parallel& parallel,
                          const config::Communication& communication) {
  return communication.scatter_gather || parallel.sequence;
}

// Returns the bytes of whole gradients that wait to be reduced to shards, with ZeRO-2 and ZeRO-3.
// One part is reduced while the next is computed; without overlap, all gradients of the stage wait
// for the end of the pass. It is 0 for levels 0 and 1, which reduce gradients in place.
std::uint64_t unsharded_gradient_bytes(const Parameters& stage,
                                       const config::Communication& communication,
                                       const ZeroGroups& zero);

}  // namespace pipewright::workload
