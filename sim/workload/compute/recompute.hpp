#pragma once

#include "sim/config/recompute.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/partition.hpp"

// Parts of a layer's forward pass that backward passes recompute.
namespace pipewright::workload {

// Share of the given work in a part of a recomputed layer that is recomputed: 0 or 1, or half of
// the products if every second result is kept (torchtitan's `op`, which keeps attention too).
double share_recomputed(const config::Recompute& recompute, Part part, Kernel::Work work);

// Returns whether a layer is recomputed in a stage that has the layers `stage`.
bool is_recomputed(const config::Recompute& recompute, LayerRange stage, std::uint32_t layer);

// Number of times that a recomputed layer saves, sets or restores random number states; we assume
// that each takes the host as long as a launch. Recomputed parts follow Megatron-LM's checkpoints,
// each of which saves the states before the forward pass, and saves, sets and restores them around
// the recomputation (megatron/core/tensor_parallel/random.py). torchtitan's `op` has no such
// states.
double random_states(const ModelSetting& setting, LayerKind kind);

// FLOP per microbatch that backward passes recompute in the forward kernels of the whole model,
// which is cut into `stages`.
double recomputed_flops(const ModelSetting& setting, const std::vector<StageParts>& stages);

}  // namespace pipewright::workload
