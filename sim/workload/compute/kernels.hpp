#pragma once

#include <string_view>
#include <vector>

#include "sim/config/data_type.hpp"
#include "sim/workload/shape/shape.hpp"

// The kernels that a GPU runs in the passes of a model's parts, as Megatron-LM with Transformer
// Engine launches them.
namespace pipewright::workload {

struct Kernel {
  enum class Work : std::uint8_t {
    product,     // of matrices
    grouped,     // products of `count` pairs of matrices in one kernel, as of experts
    scores,      // one of attention's products where scores are kept
    attention,   // fused
    memory,      // nothing but bytes
    recurrence,  // states of a sequence's chunks, one of the few kernels that wait for each other
    collective,  // among GPUs, which a cluster times: here it is launched alone
  };

  std::string_view name;    // within its part, "product", "cast"
  std::uint32_t times = 1;  // one after the other, as alike as the blocks of ring attention
  Part part = Part::head;
  Work work = Work::memory;
  config::DataType type = config::DataType::bf16;
  // Products of rows x inner times inner x columns, `count` of them at once.
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double count = 1;
  double flops = 0;       // of attention: those that are computed
  double keys = 0;        // of attention: that each query sees at the most
  double head = 128;      // of attention: elements of a head, the mean of keys' and values'
  bool backward = false;  // of attention
  double bytes = 0;       // that it reads and writes
  double stalls = 0;      // launches that the GPU waits for, as the host waited for it before them
};

// What a part's work goes by: a microbatch's tokens, the pairs of queries and keys in its
// documents, or the tokens of the busiest rank's experts.
enum class Scaling : std::uint8_t { tokens, pairs, experts };
constexpr Scaling scaling_of(Part part) {
  if (part == Part::core_attention) return Scaling::pairs;
  const bool routed = Part::permute <= part && part <= Part::unpermute;
  return routed ? Scaling::experts : Scaling::tokens;
}

std::uint32_t launches(const std::vector<Kernel>& kernels);

struct PassKernels {
  std::vector<Kernel> forward;
  std::vector<Kernel> input_grad;
  std::vector<Kernel> weight_grad;
};

// Adds one that moves so many bytes, if any.
void add_memory(std::vector<Kernel>& kernels, Part part, std::string_view name, double bytes);

PassKernels layer_kernels(const ModelSetting& setting, LayerKind kind);
// Of a module of multi-token prediction all but the head, as Megatron-LM's
// MultiTokenPredictionLayer: embedding, two norms, projection, and a layer.
PassKernels mtp_kernels(const ModelSetting& setting);
PassKernels embedding_kernels(const ModelSetting& setting);
PassKernels head_kernels(const ModelSetting& setting);  // last norm, output matrix and loss

// Of a matrix alone: its products with its input, with its output's gradient, with both.
PassKernels linear_kernels(const ModelSetting& setting, const Linear& linear);
// Between a recurrence's two products: those of mamba_ssm's chunk scan for Mamba-2 (github.com/
// state-spaces/mamba, ssd_combined.py), of flash-linear-attention's chunk_gated_delta_rule
// (github.com/fla-org/flash-linear-attention) for a gated delta net. Each reads and writes more
// than it multiplies: states in 32 bits as they are made and 16 as they are read, scores of a chunk
// in 32, all else in 16. Backward passes make states and scores again.
PassKernels recurrence_kernels(const Layer& layer);
// Of softmax(Q K') V alone.
PassKernels attention_kernels(const ModelSetting& setting, const Attention& attention);

}  // namespace pipewright::workload
