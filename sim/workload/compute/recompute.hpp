#pragma once

#include "sim/config/recompute.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/partition.hpp"

// Determines which parts of a layer's forward pass backward passes recompute.
namespace pipewright::workload {

// Returns which share of this work in a part of a recomputed layer is recomputed: 0 or 1, or half
// of the products if every second result is kept (torchtitan's `op`, which keeps attention too).
double share_recomputed(const config::Recompute& recompute, Part part, Kernel::Work work);

// Returns the fraction of the given work that a recomputed layer repeats. It is less than the
// fraction above where early stopping leaves out the last product of a layer, whose input is the
// last activation that the backward pass needs.
double share_repeated(const ModelSetting& setting, Part part, Kernel::Work work);

// Returns whether a layer is recomputed if it is in a stage with the layers `stage`.
bool is_recomputed(const config::Recompute& recompute, LayerRange stage, std::uint32_t layer);

// Number of times that a recomputed layer saves, sets or restores random number states; we assume
// that each takes the host as long as a launch, unless a CUDA graph captures the recomputed module.
// Recomputed parts follow Megatron-LM's checkpoints, each of which saves the states before the
// forward pass, and saves, sets and restores them around the recomputation
// (megatron/core/tensor_parallel/random.py). torchtitan's `op` has no such states.
Launches random_states(const ModelSetting& setting, LayerKind kind);

// Returns the FLOP per microbatch of the forward kernels that backward passes recompute, in the
// whole model, which is split into `stages`.
double recomputed_flops(const ModelSetting& setting, const std::vector<StageParts>& stages);

}  // namespace pipewright::workload
