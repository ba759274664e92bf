#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "sim/config/attention_kernel.hpp"
#include "sim/config/data_type.hpp"
#include "sim/workload/shape/shape.hpp"

// Kernels that a GPU runs in the passes of a model's parts, as Megatron-LM with Transformer Engine
// launches them.
namespace pipewright::workload {

struct Kernel {
  enum class Work : std::uint8_t {
    product,     // matrix product
    grouped,     // `count` matrix products in one kernel, such as those of experts
    scores,      // product of attention that is not fused, and stores its scores
    attention,   // fused attention
    memory,      // only moves bytes
    recurrence,  // kernel on the chunks of a sequence, which wait for each other
    collective,  // launched here, but timed by a cluster
  };

  std::string_view name;  // name within its part, such as "product" or "cast"
  // Number of equal launches one after the other, such as those for the blocks of ring attention.
  std::uint32_t times = 1;
  // Further launches within this kernel's call, in a loop over experts: the kernel stands for all.
  std::uint32_t looped = 0;
  Part part = Part::head;
  Work work = Work::memory;
  config::DataType type = config::DataType::bf16;
  // Shape of a matrix product: (rows x inner) times (inner x columns), done `count` times.
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double count = 1;
  double flops = 0;        // attention counts only the pairs that are computed
  double keys = 0;         // attention: largest number of keys that a query sees
  double head = 128;       // attention: mean size of a head's keys and values
  bool is_uneven = false;  // attention: the keys and values of a head differ in size
  bool backward = false;   // attention: backward pass
  bool is_delta = false;   // recurrence: of a gated delta net
  // Scores: each matrix begins at a multiple of 16 bytes, which the loads of tensor cores need.
  bool aligned = true;
  // Attention kernels in order of preference; the GPU runs the first that it has. The span refers
  // to the stack of the setting's training.
  std::span<const config::AttentionKernel> attention = {};
  double bytes = 0;  // read and written
  // Seconds for which the GPU waits after this kernel, at a launch factor of 1, because the host
  // waits for the result of this kernel before it launches more.
  double stall_s = 0;
  bool captured = false;  // launched with the CUDA graph of its layer, embedding or head
  // Launched by an operation of PyTorch on its own, such as an addition, without the Python of a
  // module or of an autograd function; `looped` counts further ones.
  bool is_operation = false;
};

// Quantity to which the work of a part of the model is proportional: the tokens of a microbatch,
// the pairs of queries and keys in its documents, or the tokens of the busiest rank's experts.
enum class Scaling : std::uint8_t { tokens, pairs, experts };
constexpr Scaling scaling_of(Part part) {
  if (part == Part::core_attention || part == Part::index_scores) return Scaling::pairs;
  const bool routed = Part::permute <= part && part <= Part::unpermute;
  return routed ? Scaling::experts : Scaling::tokens;
}

// Numbers of kernels and collectives that a pass of a layer, of the embedding or of the head runs;
// a repeated kernel counts once for each repetition. Collectives count apart, because the host
// takes longer to call one than to launch a kernel, and so do launches in loops and by single
// operations, which take less. Captured kernels and collectives also count apart: together they are
// one graph.
struct Launches {
  double kernels = 0;
  double collectives = 0;
  double looped = 0;
  double operations = 0;
  double captured = 0;

  double graphs() const { return std::min(captured, 1.0); }
  double total() const { return kernels + collectives + looped + operations + captured; }
  void add(const Kernel& kernel, double share = 1) {
    double& count = kernel.captured                           ? captured
                    : kernel.work == Kernel::Work::collective ? collectives
                    : kernel.is_operation                     ? operations
                                                              : kernels;
    double& further = kernel.captured ? captured : kernel.is_operation ? operations : looped;
    count += share * kernel.times;
    further += share * kernel.times * kernel.looped;
  }
};
Launches launches(const std::vector<Kernel>& kernels);

struct PassKernels {
  std::vector<Kernel> forward;
  std::vector<Kernel> input_grad;
  std::vector<Kernel> weight_grad;
};

// Adds a kernel that only moves `bytes` bytes; adds none for 0 bytes.
void add_memory(std::vector<Kernel>& kernels, Part part, std::string_view name, double bytes);

PassKernels layer_kernels(const ModelSetting& setting, LayerKind kind);
// Returns the kernels of a norm of `elements` elements.
PassKernels norm_kernels(const ModelSetting& setting, Part part, double elements);
// Erases those kernels of I in a layer or in the head that compute gradients below the first
// product whose weights, or whose adapters, are trained; all of them if it trains none. No weights
// need them if nothing below the part is trained.
void drop_lowest_gradients(const config::Training& training, std::vector<Kernel>& input_grad);
// Returns the kernels of a multi-token prediction module without its head, like Megatron-LM's
// MultiTokenPredictionLayer: embedding, two norms, projection and a layer.
PassKernels mtp_kernels(const ModelSetting& setting);
PassKernels embedding_kernels(const ModelSetting& setting);
PassKernels head_kernels(const ModelSetting& setting);  // final norm, output matrix and loss

// Returns the kernels of one weight matrix: its product with the input in the forward pass, and the
// gradients of the input and, unless the matrix is frozen, of the weights in the backward pass.
PassKernels linear_kernels(const ModelSetting& setting, const Linear& linear);
// Adds the kernels of those matrices whose part is from `first` to `last`, and of their adapters.
void add_linear_kernels(const ModelSetting& setting, const std::vector<Linear>& linears, Part first,
                        Part last, PassKernels& kernels);
// Returns the three products of a matrix in this type, without casts and collectives.
PassKernels product_kernels(const ModelSetting& setting, const Linear& linear,
                            config::DataType type);
// Returns the kernels of a product's adapters, which Megatron-Bridge and PEFT launch beside those
// of the frozen matrix: in the forward pass the products with A and B, a multiplication by the
// scale and an addition to the product's result, and the gradients of these. The products are
// modules (ParallelLinearAdapter of megatron/bridge/peft/utils.py), all else single operations.
PassKernels adapter_kernels(const ModelSetting& setting, const Linear& linear);
// Returns the kernels between the two projections of a recurrent layer: those of mamba_ssm's chunk
// scan for Mamba-2 (github.com/state-spaces/mamba, ssd_combined.py), and those of
// flash-linear-attention's chunk_gated_delta_rule (github.com/fla-org/flash-linear-attention, 0.5)
// for a gated delta net, or loops of operations in deterministic training. Memory traffic outweighs
// their products: states are written in 32 bits and read in 16, the scores of a chunk take 32,
// everything else 16. With a recipe of 32 bits all bytes double, an upper limit. Backward passes
// recompute states and scores. The decays per channel of Kimi delta attention add only the bytes of
// the decays. Mamba-1 runs mamba_ssm's selective scan, and a short convolution three kernels
// without a state.
PassKernels recurrence_kernels(const ModelSetting& setting, const Layer& layer);
// Returns the kernels of a gated delta net between the convolution and the gated norm, if PyTorch
// computes its chunks one after the other in fp32, without kernels of its own
// (torch_chunk_gated_delta_rule in megatron/core/ssm/gated_delta_net/gdn.py). `sequence` is the
// number of tokens along which a state is carried.
PassKernels looped_delta_kernels(const Recurrence& recurrence, double sequence);
// Returns the kernels of softmax(Q K') V alone, without the projections before and after.
PassKernels attention_kernels(const ModelSetting& setting, const Attention& attention);
// Returns the kernels of a layer's indexer after its projections: its scores, its choice of keys
// and its loss. As with Megatron-LM's fused kernels, all of them run in the forward pass.
PassKernels index_kernels(const ModelSetting& setting, const Layer& layer);
// Returns the number of pairs of a query and a key in the loss of a layer's indexer.
double learned_pairs(const ModelSetting& setting, const Layer& layer);
// Return the kernels of hyper-connections before a mixer or an MLP, which weigh the residual
// streams and make one hidden state of them, and those after it, which mix the streams and add the
// result to each (HyperConnectionModule in megatron/core/transformer/hyper_connection.py, with its
// fused kernels).
PassKernels stream_inputs(const ModelSetting& setting, const Linear& weights);
PassKernels stream_results(const ModelSetting& setting);

}  // namespace pipewright::workload
