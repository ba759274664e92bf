#pragma once

#include <vector>

#include "sim/workload/compute/kernels.hpp"

// Kernels that CUDA graphs capture, and waits for the host that graphs avoid.
namespace pipewright::workload {

// Marks all kernels if the graphs are not limited to modules.
void capture_all(const ModelSetting& setting, PassKernels& kernels);
// Marks those kernels of a layer's mixer, with norm and residual, that the module's graph captures.
// Gated delta nets are a kind of self-attention in Megatron-LM, Mamba-2 layers are not
// (_layer_is_graphable in megatron/core/transformer/cuda_graphs.py).
void capture_mixer(const ModelSetting& setting, Mixer mixer, PassKernels& kernels);
// Marks the captured kernels of an MLP or a mixture of experts, with norm and residual.
void capture_feed_forward(const ModelSetting& setting, LayerKind kind, PassKernels& kernels);

// Adds the wait for the host. The host waits to read how many tokens its experts get, so that it
// launches no kernels ahead. In turn, the GPU waits for the launches up to the one that sends the
// tokens, or up to the experts' first product if tokens are not sent (Megatron-Core's dropless
// dispatchers, cuda_sync_point in megatron/core/transformer/moe/token_dispatcher.py). A CUDA graph
// of the whole iteration or of the whole mixture, with buffers for any number of tokens, has no
// such wait. A graph of moe_preprocess has launched the permutation before the wait
// (cuda_dtoh_point in the same file).
void add_stall(const ModelSetting& setting, std::vector<Kernel>& forward);

}  // namespace pipewright::workload
