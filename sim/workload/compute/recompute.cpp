#include "sim/workload/compute/recompute.hpp"

#include "sim/workload/shape/fine_tuning.hpp"

namespace pipewright::workload {
namespace {

using config::Recompute;
using config::RecomputeModule;
using Granularity = Recompute::Granularity;

bool is_in_recomputed_module(Part part, const Recompute& recompute) {
  switch (part) {
    case Part::index_scores:
    case Part::core_attention:
      return recompute.has(RecomputeModule::core_attn);
    case Part::streams:
      return recompute.has(RecomputeModule::mhc);
    case Part::attention_norm:
    case Part::mlp_norm:
      return recompute.has(RecomputeModule::layernorm);
    case Part::mlp_in:
    case Part::activation:
    case Part::mlp_out:
      return recompute.has(RecomputeModule::mlp);
    case Part::mla_up:
    case Part::rotary:
      return recompute.has(RecomputeModule::mla_up_proj);
    case Part::expert_activation:
      return recompute.has(RecomputeModule::moe_act) || recompute.has(RecomputeModule::moe);
    case Part::latent_in:
    case Part::latent_out:
    case Part::router:
    case Part::permute:
    case Part::expert_in:
    case Part::expert_out:
    case Part::unpermute:
      return recompute.has(RecomputeModule::moe);
    case Part::shared_in:
    case Part::shared_activation:
    case Part::shared_out:
      return recompute.has(RecomputeModule::shared_experts) || recompute.has(RecomputeModule::moe);
    default:
      return false;
  }
}

// Returns whether a part of a layer with an MLP or experts comes after the last tensor that the
// layer saves: its last product and the combination of the experts' results.
bool is_after_last_saved(Part part) {
  switch (part) {
    case Part::mlp_out:
    case Part::expert_out:
    case Part::unpermute:
    case Part::latent_out:
    case Part::shared_out:
      return true;
    default:
      return false;
  }
}

}  // namespace

double share_recomputed(const Recompute& recompute, Part part, Kernel::Work work) {
  switch (recompute.granularity) {
    case Granularity::none:
      break;
    case Granularity::selective:
      // The weights of residual streams are kept.
      if (part == Part::streams && work == Kernel::Work::product) return 0;
      return is_in_recomputed_module(part, recompute) ? 1 : 0;
    case Granularity::full:
      return 1;
    case Granularity::op:
      if (part == Part::core_attention || work == Kernel::Work::attention) return 0;
      return work == Kernel::Work::product || work == Kernel::Work::grouped ? 0.5 : 1;
  }
  return 0;
}

double share_repeated(const ModelSetting& setting, Part part, Kernel::Work work) {
  const Recompute& recompute = setting.training.recompute;
  const double share = share_recomputed(recompute, part, work);
  // A norm after the last product needs the product's result, and so does the next layer of a group
  // that is recomputed together.
  const bool stops = recompute.granularity == Granularity::full && recompute.early_stop &&
                     recompute.uniform == 1 && !setting.model.post_norms;
  return stops && is_after_last_saved(part) ? 0 : share;
}

bool is_recomputed(const Recompute& recompute, LayerRange stage, std::uint32_t layer) {
  if (recompute.granularity == Granularity::none) return false;
  if (recompute.block > 0 && layer - stage.first >= recompute.block) return false;
  return (layer + 1) % recompute.every == 0;
}

Launches random_states(const ModelSetting& setting, LayerKind kind) {
  constexpr double states_per_checkpoint = 4;
  const config::Recompute& recompute = setting.training.recompute;
  const config::CudaGraphs& graphs = setting.training.cuda_graphs;
  Launches states;
  const auto add = [&](double count, bool captured) {
    (captured ? states.captured : states.kernels) += count;
  };
  if (recompute.granularity == Granularity::full)
    add(states_per_checkpoint / recompute.uniform, graphs.capture_all());
  if (recompute.granularity != Granularity::selective) return states;
  const config::Model& model = setting.model;
  const Mixer mixer = mixer_of(model, kind);
  const bool attends = has_attention(mixer);
  const bool latent = has_low_rank(mixer);
  const bool experts = has_experts(kind);
  const bool shared = experts && model.experts->shared > 0;
  using config::GraphModule;
  const GraphModule shared_experts =
      setting.training.experts.shared_overlap ? GraphModule::moe : GraphModule::moe_router;
  struct Checkpoint {
    RecomputeModule module;
    bool in_layer;
    GraphModule graph;  // smallest module whose graph captures the checkpoint
  };
  for (const Checkpoint& checkpoint :
       {Checkpoint{RecomputeModule::core_attn, attends, GraphModule::attn},
        Checkpoint{RecomputeModule::layernorm, latent, GraphModule::attn},
        Checkpoint{RecomputeModule::layernorm, experts, GraphModule::moe_router},
        Checkpoint{RecomputeModule::moe_act, experts, GraphModule::moe},
        Checkpoint{RecomputeModule::mlp, feed_forward_of(kind) == FeedForward::dense,
                   GraphModule::mlp},
        Checkpoint{RecomputeModule::moe, experts, GraphModule::moe},
        Checkpoint{RecomputeModule::mla_up_proj, latent, GraphModule::attn},
        Checkpoint{RecomputeModule::shared_experts, shared, shared_experts},
        Checkpoint{RecomputeModule::mhc, model.residual_streams > 1 && attends,
                   GraphModule::attn}}) {
    const bool in_experts = experts && checkpoint.graph != GraphModule::attn;
    const bool captured = graphs.capture_all() || graphs.has(checkpoint.graph) ||
                          (in_experts && graphs.has(GraphModule::moe));
    if (checkpoint.in_layer && recompute.has(checkpoint.module))
      add(states_per_checkpoint, captured);
  }
  return states;
}

double recomputed_flops(const ModelSetting& setting, const std::vector<StageParts>& stages) {
  const config::Recompute& recompute = setting.training.recompute;
  if (recompute == config::Recompute{}) return 0;
  const ModelSetting whole{setting.model, setting.training,
                           sizes_of(setting.model, setting.training, config::Parallel{})};
  const auto recomputed_kernel_flops = [&](const PassKernels& kernels) {
    double flops = 0;
    for (const Kernel& kernel : kernels.forward)
      flops += kernel.times * kernel.flops * share_repeated(whole, kernel.part, kernel.work);
    return flops;
  };
  const auto recomputed_layer_flops = [&](LayerKind kind) {
    return recomputed_kernel_flops(layer_kernels(whole, kind));
  };
  const auto layer_flops_by_kind = by_kind(setting.model, recomputed_layer_flops);
  double flops = 0;
  if (setting.model.mtp_layers > 0)
    flops += setting.model.mtp_layers * recomputed_kernel_flops(mtp_kernels(whole));
  const std::uint32_t untrained = layers_below_training(whole);
  for (const StageParts& stage : stages) {
    // The first stage has no backward pass of layers below all that is trained.
    const bool is_lowest = stage.embedding && stage.layers.first == 0;
    const std::uint32_t first_trained = is_lowest ? untrained : 0;
    for (std::uint32_t layer = stage.layers.first; layer < stage.layers.first + stage.layers.count;
         ++layer)
      if (is_recomputed(recompute, stage.layers, layer) && layer >= first_trained)
        flops += layer_flops_by_kind[static_cast<std::size_t>(kind_of_layer(setting.model, layer))];
  }
  return flops;
}

}  // namespace pipewright::workload
