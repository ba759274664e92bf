#pragma once

#include "sim/config/recompute.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/partition.hpp"

// What of a layer's forward backward passes make again.
namespace pipewright::workload {

// The share of what work of that kind makes in a part of a recomputed layer: 0 or 1, and half of
// the products where every second one is kept (torchtitan's `op`, which keeps attention too).
double share_recomputed(const config::Recompute& recompute, Part part, Kernel::Work work);

// Whether the layer is recomputed, in a stage of those layers.
bool is_recomputed(const config::Recompute& recompute, LayerRange stage, std::uint32_t layer);

// How often a recomputed layer handles states of random numbers, which takes the host as long as a
// launch each time, in our assumption: what is made again stands in the order of Megatron-LM's
// checkpoints, each of which saves them before the forward pass and saves, sets and restores them
// around what it makes again (megatron/core/tensor_parallel/random.py). torchtitan's `op` has none.
double random_states(const ModelSetting& setting, LayerKind kind);

// FLOP of a microbatch that backward passes make again themselves, of the whole model cut into
// those stages: of each layer's forward the kernels'.
double recomputed_flops(const ModelSetting& setting, const std::vector<StageParts>& stages);

}  // namespace pipewright::workload
