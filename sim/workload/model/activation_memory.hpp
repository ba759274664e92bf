#pragma once

#include <string>

#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"

// Computes the activation memory of one microbatch on one GPU, in bytes. For GPT-like layers these
// are the formulas of Korthikanti et al. (arXiv 2205.05198, table 2) and, for the memory between I
// and W, of Qi et al. (arXiv 2401.10241, table 1). They are extended to grouped heads, gated MLPs
// and experts.
namespace pipewright::workload {

struct ActivationBytes {  // from the start of F
  double held = 0;        // inputs of the products and gradients of their results, which W needs
  double for_w = 0;       // added while the backward pass is in this layer
  double working = 0;     // beside that while the backward pass is in this layer
  double movable = 0;     // part of `held` that the modules of training.offload save

  bool operator==(const ActivationBytes&) const = default;
};

// Returns the activations of a layer of this kind. If training.recompute applies to such layers,
// the layer is recomputed.
ActivationBytes layer_bytes(const ModelSetting& setting, LayerKind kind);
// Returns the activations of layer number `layer` in a stage. Whether it is recomputed, alone or in
// a group of layers, depends on its position in the stage.
ActivationBytes layer_bytes(const ModelSetting& setting, LayerRange stage, std::uint32_t layer);
// Returns whether the configured recomputation frees no memory, as when it recomputes attention
// that stores no scores anyway.
bool frees_nothing(const ModelSetting& setting);
// Returns a note that the configured recomputation frees no memory, with the modules whose
// recomputation would; empty if it does free memory.
std::string idle_recompute_note(const ModelSetting& setting);
// Returns the activations of a multi-token prediction module, without those of the head, which runs
// once more for the module.
ActivationBytes mtp_bytes(const ModelSetting& setting);
ActivationBytes embedding_bytes(const ModelSetting& setting);  // mask of its dropout
ActivationBytes head_bytes(const ModelSetting& setting);       // final norm, without the logits
// Return the bytes of the logits and of their gradient that stay after the forward pass. A loss in
// chunks leaves none: head_bytes() has the logits of a chunk.
double logits_bytes(const ModelSetting& setting);
double logits_grad_bytes(const ModelSetting& setting);  // needed by W

// Returns the bytes of the buffer for attention scores, which Megatron-LM keeps for the whole run.
double score_buffer_bytes(const ModelSetting& setting);

// Returns the bytes of the buffers for keys and values from other context-parallel ranks. Ring
// attention has two blocks, and two blocks of their gradients in the backward pass. If keys are
// gathered, there are all keys and values and their gradients. If heads are exchanged, there are
// the exchanged tensors.
double context_buffer_bytes(const ModelSetting& setting);

}  // namespace pipewright::workload
