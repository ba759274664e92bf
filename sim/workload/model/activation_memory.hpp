#pragma once

#include <string>

#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/partition.hpp"

// What one microbatch leaves on one GPU, in bytes. For GPT-like layers these are the formulas of
// Korthikanti et al. (arXiv 2205.05198, table 2), and of Qi et al. (arXiv 2401.10241, table 1) for
// what is left between I and W; from there they go on to grouped heads, gated MLPs and experts.
namespace pipewright::workload {

struct ActivationBytes {
  double held = 0;     // from F on
  double for_w = 0;    // what W needs: inputs of the products, and gradients of their results
  double working = 0;  // beside that while the backward pass is in this layer

  bool operator==(const ActivationBytes&) const = default;
};

// Of a layer that is recomputed as training.recompute says, if it is.
ActivationBytes layer_bytes(const ModelSetting& setting, LayerKind kind);
// Of one layer of a stage, which may be recomputed or not, with others or alone.
ActivationBytes layer_bytes(const ModelSetting& setting, LayerRange stage, std::uint32_t layer);
// Whether what is recomputed makes nothing free, as attention whose scores are not kept; and a line
// for a person on why, and what would: empty where it does.
bool frees_nothing(const ModelSetting& setting);
std::string idle_recompute_note(const ModelSetting& setting);
// Of a module of multi-token prediction, but for its run of the head.
ActivationBytes mtp_bytes(const ModelSetting& setting);
ActivationBytes embedding_bytes(const ModelSetting& setting);  // its dropout's mask
ActivationBytes head_bytes(const ModelSetting& setting);       // the last norm; without the logits
double logits_bytes(const ModelSetting& setting);
double logits_grad_bytes(const ModelSetting& setting);  // which W needs

// Attention scores' own buffer, which Megatron-LM keeps for the whole run.
double score_buffer_bytes(const ModelSetting& setting);

// Keys and values from other ranks of cp: of ring attention two blocks, and in the backward pass of
// the gradients that go round with them; all of them and their gradients where they are gathered;
// what is exchanged for parts of the heads.
double context_buffer_bytes(const ModelSetting& setting);

}  // namespace pipewright::workload
