#include "sim/workload/compute/expert_kernels.hpp"

#include <array>
#include <span>

#include "sim/workload/compute/small_kernels.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

// A kernel that processes the scores of a router: one fp32 score per token and expert. Megatron-LM
// launches these kernels without fusion (megatron/core/transformer/moe: router.py, moe_utils.py,
// token_dispatcher.py). They are short, but each takes the host as long to launch as any other.
struct ScoreKernel {
  std::string_view name;
  double bytes;  // per score
};
constexpr std::string_view cast_of_scores = "cast";
constexpr std::array<ScoreKernel, 12> forward_score_kernels{{{cast_of_scores, 6},
                                                             {"softmax", 8},
                                                             {"top-k", 4},
                                                             {"normalise", 0.5},
                                                             {"zeros", 4},
                                                             {"scatter", 1},
                                                             {"map", 1},
                                                             {"counts", 1},
                                                             {"loss", 4},
                                                             {"loss", 4},
                                                             {token_splits, 0.1},
                                                             {copy_to_host, 0.1}}};
constexpr std::array<ScoreKernel, 5> backward_score_kernels{
    {{"loss", 8}, {"scatter", 4}, {"normalise", 0.5}, {"softmax", 12}, {cast_of_scores, 6}}};

// The fused router computes the scores and selects experts in one kernel (Megatron-Core's
// moe_router_fusion).
constexpr std::array<ScoreKernel, 3> fused_forward_score_kernels{
    {{"scores", 12}, {"loss", 4}, {copy_to_host, 0.1}}};
constexpr std::array<ScoreKernel, 2> fused_backward_score_kernels{{{"loss", 8}, {"scores", 16}}};

// Returns whether tokens are copied for each of their experts before they are sent. A dispatcher
// that sends each token once makes the copies where the tokens arrive.
bool copies_before_sending(const ModelSetting& setting) {
  return setting.training.experts.dispatcher == config::Dispatcher::alltoall ||
         setting.sizes.ep == 1;
}

// Bytes per element of the kernels with which PyTorch moves copies of tokens: those of the rank
// that sends the copies, and those of the rank that has the experts.
struct TokenMoves {
  std::span<const double> sent;
  std::span<const double> received;
};

// Returns the kernels without fusion (torchtitan/models/moe/moe.py and utils.py). Copies are
// gathered before they are sent. Where they arrive, a row of padding is appended, and the copies
// are gathered expert by expert. On their way back, they are scattered twice, cast to 32 bits and
// multiplied by the router's scores. Gradients of gathered rows are added up in zeroed tensors.
TokenMoves copied_moves(bool combines, bool backward) {
  static constexpr std::array<double, 1> gather{4};
  static constexpr std::array<double, 2> pad_and_gather{4, 4};
  static constexpr std::array<double, 1> scatter{4};
  static constexpr std::array<double, 4> scatter_and_weigh{2, 4, 6, 4};
  static constexpr std::array<double, 4> gradient_of_weighing{4, 4, 6, 4};
  static constexpr std::array<double, 3> gradient_of_scatter{2, 4, 4};
  static constexpr std::array<double, 2> gradient_of_gather{2, 6};
  if (combines && backward) return {gradient_of_weighing, gradient_of_scatter};
  if (combines) return {scatter_and_weigh, scatter};
  if (backward) return {gradient_of_gather, gradient_of_gather};
  return {gather, pad_and_gather};
}

// Returns the kernels without fusion for tokens that are sent once (torchtitan/distributed/deepep):
// tokens are gathered expert by expert, and later multiplied by the router's scores and added up.
TokenMoves received_moves(bool combines, bool backward) {
  static constexpr std::array<double, 1> gather{4};
  static constexpr std::array<double, 2> weigh_and_add{4, 6};
  static constexpr std::array<double, 3> gradient_of_weighing{4, 4, 4};
  static constexpr std::array<double, 1> gradient_of_gather{6};
  if (combines && backward) return {{}, gradient_of_weighing};
  if (combines) return {{}, weigh_and_add};
  if (backward) return {{}, gradient_of_gather};
  return {{}, gather};
}

// Adds the permutation of the experts' tokens. Without fusion PyTorch also sorts the copies'
// experts and gathers their indices and probabilities.
void add_moves(const ModelSetting& setting, Part part, std::string_view name, bool backward,
               const Routing& routing, Kernels& kernels) {
  const double width = width_of(setting) * setting.model.expert_width();
  const bool copies = copies_before_sending(setting);
  if (setting.training.stack.fuses(config::Fusable::permutation))
    return add_memory(kernels, part, name,
                      4 * ((copies ? routing.sent : 0) + routing.received) * width);
  const bool combines = part == Part::unpermute;
  const TokenMoves moves =
      copies ? copied_moves(combines, backward) : received_moves(combines, backward);
  add_each(kernels, part, name, moves.sent, routing.sent * width);
  add_each(kernels, part, name, moves.received, routing.received * width);
  constexpr std::array<double, 3> index_bytes{16, 12, 12};
  add_each(kernels, part, "indices", index_bytes, routing.received);
}

// Adds the kernels by which Megatron-Core adds the bias of the experts' second product, times the
// probability of each copy of a token, expert by expert in fp32 (_apply_bias in
// megatron/core/transformer/moe/experts.py). The bytes are those of the scaled bias, the sum, the
// concatenation of all experts, and the cast to 16 bits, and then those of their gradients.
void add_expert_biases(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const double elements = layer.routing.received * setting.model.expert_width();
  constexpr std::array<double, 4> forward{4, 2 + 4 + 4, 4 + 4, 4 + 2};
  constexpr std::array<double, 4> backward{2 + 4, 4 + 2, 4 + 4 + 4, 4 + 4 + 4};
  add_small_kernels({forward, backward}, Part::expert_out, "bias", elements, kernels);
}

}  // namespace

void add_router_scores(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const bool fused = setting.training.stack.fuses(config::Fusable::router);
  const std::span<const ScoreKernel> forward =
      fused ? std::span<const ScoreKernel>(fused_forward_score_kernels) : forward_score_kernels;
  const std::span<const ScoreKernel> backward =
      fused ? std::span<const ScoreKernel>(fused_backward_score_kernels) : backward_score_kernels;
  const bool has_wide_scores = config::has_32_bits(type_of(setting, Part::router));
  const auto add = [&](std::span<const ScoreKernel> score_kernels, double scores, Kernels& pass) {
    for (const ScoreKernel& kernel : score_kernels)
      if (!(has_wide_scores && kernel.name == cast_of_scores))
        add_memory(pass, Part::router, kernel.name, kernel.bytes * scores);
  };
  for (const Linear& router : layer.router) {
    const double scores = router.tokens * static_cast<double>(router.outputs);
    add(forward, scores, kernels.forward);
    add(backward, scores, kernels.input_grad);
  }
}

void add_permutation_kernels(const ModelSetting& setting, Part part, std::string_view name,
                             bool backward, const Layer& layer, Kernels& kernels) {
  using config::Dispatcher;
  if (layer.routing.received == 0) return;
  add_moves(setting, part, name, backward, layer.routing, kernels);
  if (setting.sizes.ep == 1) return;
  const Dispatcher dispatcher = setting.training.experts.dispatcher;
  const bool combines = part == Part::unpermute;
  if (dispatcher == Dispatcher::alltoall)
    add_collective(kernels, part, "all-to-all");
  else if (dispatcher == Dispatcher::allgather)
    add_collective(kernels, part, combines ? "reduce-scatter" : "all-gather");
  else
    add_collective(kernels, part, combines ? "combine" : "dispatch");
}

void add_expert_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  PassKernels experts;
  add_linear_kernels(setting, layer.expert_linears, Part::expert_in, Part::expert_in, experts);
  add_activation_kernels(setting, Part::expert_activation, layer.experts, experts);
  add_linear_kernels(setting, layer.expert_linears, Part::expert_out, Part::expert_out, experts);
  if (setting.training.experts.op_fuser) {
    const auto drop = [](Kernels& pass, Part cast) {
      std::erase_if(pass, [&](const Kernel& kernel) {
        return kernel.work == Work::memory &&
               (kernel.part == Part::expert_activation || kernel.part == cast);
      });
    };
    drop(experts.forward, Part::expert_out);
    drop(experts.input_grad, Part::expert_in);
  } else if (setting.model.biases == config::Model::Biases::all) {
    add_expert_biases(setting, layer, experts);
  }
  append_passes(experts, kernels);
}

}  // namespace pipewright::workload
