#pragma once

#include <string>

#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"

// Activation memory of one microbatch on one GPU, in bytes. For GPT-like layers these are the
// formulas of Korthikanti et al. (arXiv 2205.05198, table 2) and, for the memory between I and W,
// of Qi et al. (arXiv 2401.10241, table 1). They are extended to grouped heads, gated MLPs and
// experts.
namespace pipewright::workload {

struct ActivationBytes {  // from the start of F
  double held = 0;        // inputs of the products and gradients of their results, which W needs
  double for_w = 0;       // added while the backward pass is in this layer
  double working = 0;     // beside that while the backward pass is in this layer

  bool operator==(const ActivationBytes&) const = default;
};

// Activations of a layer that training.recompute recomputes, if it applies to such layers.
ActivationBytes layer_bytes(const ModelSetting& setting, LayerKind kind);
// Activations of one layer of a stage, which may be recomputed or not, alone or in a group.
ActivationBytes layer_bytes(const ModelSetting& setting, LayerRange stage, std::uint32_t layer);
// Returns whether the recomputation frees no memory, as with attention that stores no scores.
bool frees_nothing(const ModelSetting& setting);
// Explains why the recomputation frees no memory and names modules that would; empty if it frees
// memory.
std::string idle_recompute_note(const ModelSetting& setting);
// Activations of a multi-token prediction module without its run of the head.
ActivationBytes mtp_bytes(const ModelSetting& setting);
ActivationBytes embedding_bytes(const ModelSetting& setting);  // mask of its dropout
ActivationBytes head_bytes(const ModelSetting& setting);       // final norm, without the logits
double logits_bytes(const ModelSetting& setting);
double logits_grad_bytes(const ModelSetting& setting);  // needed by W

// Buffer of the attention scores, which Megatron-LM keeps for the whole run.
double score_buffer_bytes(const ModelSetting& setting);

// Buffers of keys and values from other ranks of cp. Ring attention has two blocks, and two blocks
// of their gradients in the backward pass. A gather has all keys and values and their gradients. An
// exchange of heads has the exchanged tensors.
double context_buffer_bytes(const ModelSetting& setting);

}  // namespace pipewright::workload
