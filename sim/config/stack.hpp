#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/attention_kernel.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/text/fields.hpp"

// Software stacks: the times, the memory and the limits that the software of a training job adds to
// those of its GPUs. A stack is a file of platforms/stacks, or a map in a scenario.
namespace pipewright::config {

// Groups of small kernels that a stack runs as one kernel.
enum class Fusable : std::uint8_t {
  norm,           // norms of a layer
  activation,     // activation function of an MLP with its gate
  rope,           // rotary embedding
  softmax,        // mask and softmax of attention scores that are stored
  residual,       // residual addition with the dropout before it
  cross_entropy,  // loss over the vocabulary
  permutation,    // permutation of tokens for experts
  router,         // scores of a router
  optimizer,      // update of all parameters
};
inline constexpr std::array<std::string_view, 9> fusable_names{
    "norm",          "activation",  "rope",   "softmax",  "residual",
    "cross_entropy", "permutation", "router", "optimizer"};

// Seconds that a host with a launch factor of 1 takes. Node files give the factors of other hosts.
struct HostTimes {
  double kernel = 0;      // from one launch of a modelled kernel to the next
  double collective = 0;  // the same for a call of a collective
  double loop = 0;        // a further launch in a loop over experts, within a call of a library
  // Seconds from the launch of a single operation of PyTorch, such as an addition outside of
  // modules, to the next one. Default: kernel.
  std::optional<double> operation;
  double pass = 0;       // fixed time of a pass of a microbatch through a stage
  double iteration = 0;  // fixed time of an iteration: optimizer, logging, loading of data

  double of_operation() const { return operation.value_or(kernel); }
  bool operator==(const HostTimes&) const = default;
};

// Memory that software takes on each GPU beside the tensors of a model.
struct SoftwareMemory {
  // Bytes that the allocator holds in addition to tensors, as a fraction of the activations:
  // default of training.fragmentation.
  double fragmentation = 0.1;
  // Bytes of the CUDA context with the code of kernels, and of NCCL's buffers of all communicators.
  // Their sum is the default of training.reserved.
  std::uint64_t context = std::uint64_t{512} << 20U;
  std::uint64_t nccl_buffers = std::uint64_t{1536} << 20U;
  // Bytes of workspaces of matrix products, which stay allocated from the first product on, and
  // bytes of additional workspaces of the experts' products. Both apply to GPUs with FP8; other
  // GPUs take a fifth.
  std::uint64_t workspace = std::uint64_t{96} << 20U;
  std::uint64_t expert_workspace = 0;
  std::uint64_t graph_kernel = 20'000;  // bytes of a kernel in a CUDA graph
  // Bytes of each logit's gradients and copies that exist beside the stored logit in the backward
  // pass of the loss: of a loss that is not fused, whose stored logits are fp32, and of a fused
  // one, whose stored logits have 16 bits.
  double loss_working = 2;
  double fused_loss_working = 0;
  // Bytes that the optimizer's step allocates for each parameter whose state is on the GPU.
  double optimizer_working = 0;
  // Products that accumulate into the gradients return a gradient of 16 bits to autograd that
  // nothing reads. The software keeps one for each shape of a weight.
  bool unused_gradients = false;
  // Tensors that NCCL reads are freed only when the GPU has reached their collective. The host is a
  // whole pass ahead of the GPU.
  bool delayed_frees = false;

  std::uint64_t reserved() const { return context + nccl_buffers; }
  bool operator==(const SoftwareMemory&) const = default;
};

// Largest number of rules that stack_rules.hpp may list.
inline constexpr std::size_t max_stack_rules = 64;

struct Stack {
  std::string name;
  std::string family;  // software that stacks share: "megatron"; empty: not stated
  std::string help;    // description in one line
  HostTimes host;
  SoftwareMemory memory;
  std::bitset<fusable_names.size()> fused = ~std::bitset<fusable_names.size()>{};
  // Attention kernels in order of preference. The first one that the GPU's file has is used.
  std::vector<AttentionKernel> attention;
  // True if PyTorch's checkpoint stops recomputing a module once all activations that its backward
  // pass needs exist, so that the module's last matrix product is not repeated.
  bool early_stop = false;
  // True if fused attention with sinks skips the pairs that the causal mask and windows exclude.
  bool sinks_skip_masked = true;
  // Indices, in stack_rules.hpp, of the rules that the software enforces.
  std::bitset<max_stack_rules> rules;
  std::vector<std::string> schedules;  // schedules of the catalogue for pipelines; empty: all
  // Default of parallel.max_unsharded_stages.
  std::optional<std::uint32_t> max_unsharded_stages;
  UnshardRule unshard_lookahead = UnshardRule::full;  // default of parallel.unshard_lookahead
  std::optional<std::uint32_t> gather_ahead;          // default of parallel.gather_ahead
  // ZeRO-3 with several copies of each shard: true if the copies sum up their gradients only after
  // the last microbatch of an iteration; false if after every microbatch.
  bool sums_copies_once = false;
  // Standard deviation of the times of equal replicas, relative to their mean. All replicas wait
  // for the slowest (workload::slowest_replica()).
  double replica_spread = 0;
  std::vector<std::string> assumed;  // keys whose values have no source

  bool fuses(Fusable group) const { return fused.test(static_cast<std::size_t>(group)); }
};

// Name of the stack of a scenario that names none.
inline constexpr std::string_view default_stack = "megatron-core";

// The complete map of a stack that a field contains or names, after inheritance: keys of a map
// override those of the stack that its key `like` names. A file of the library whose `like` is its
// own name changes the file of the next folder of the library. Throws an Error if stacks inherit
// from each other in a circle.
Value stack_tree(const Field& field);
// The same map with a name added if it has none: that of the file, or of the stack that a map
// inherits from.
Value named_stack_tree(const Field& field);
// Reads a stack from its complete map.
Stack read_stack(const Field& field);

// Returns the scenario `root` with the default stack if it names none. As this stack is an
// assumption, it has all schedules.
Value with_default_stack(Value root);
// Returns the scenario with the stack's values for the key partition and for the keys of the
// sections training and communication, as far as the scenario does not set them.
// Bytes per parameter and per reduced gradient that a stack gives are those of mixed precision:
// scenarios in 32 bits do not have them.
Value with_stack_defaults(Value root, const Value& stack);

std::vector<KeyRow> stack_keys();

}  // namespace pipewright::config
