#include "sim/config/training_checks.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/model_checks.hpp"

namespace pipewright::config {
namespace {

void check_layer_count(const Value& root, std::string_view key, std::uint32_t count,
                       std::uint32_t limit) {
  if (count > limit)
    throw Error(origin_of(root, key),
                fmt::format("{} is {}, and a stage has no more than {} layers", key, count, limit))
        .allow(fmt::format("1 to {}, or without the key for all of them", limit));
}

}  // namespace

std::vector<std::string> notes_of(const Model& model, const Training& training) {
  // Notes on inexact results come first, since a run shows few notes.
  std::vector<std::string> notes = approximations(model);
  for (const std::string& note : model.notes) {
    const bool is_settled = (training.sequence && note.starts_with("sequence:")) ||
                            (model.mtp_layers == 0 && note.starts_with("mtp_layers:")) ||
                            (training.vision && note.starts_with("vision_config: a run has"));
    if (!is_settled) notes.push_back(note);
  }
  return notes;
}

bool has_module(const Model& model, RecomputeModule module) {
  switch (module) {
    case RecomputeModule::core_attn:
    case RecomputeModule::layernorm:
      return true;
    case RecomputeModule::mlp:
      if (!model.pattern.empty()) return model.has_layers(layer_symbols::mlp);
      return !model.experts || model.experts->first_dense > 0 || model.experts->every > 1;
    case RecomputeModule::moe:
    case RecomputeModule::moe_act:
      return model.experts.has_value();
    case RecomputeModule::shared_experts:
      return model.experts && model.experts->shared > 0;
    case RecomputeModule::mla_up_proj:
      return model.latent.has_value() || model.compressed.has_value();
    case RecomputeModule::mhc:
      return model.residual_streams > 1;
  }
  return false;
}

bool has_module(const Model& model, GraphModule module) {
  switch (module) {
    case GraphModule::attn:
      return model.pattern.empty() || std::ranges::any_of(layer_symbols::mixers, [&](char symbol) {
               return symbol != layer_symbols::mamba && model.has_layers(symbol);
             });
    case GraphModule::mlp:
      return has_module(model, RecomputeModule::mlp);
    case GraphModule::moe:
    case GraphModule::moe_router:
    case GraphModule::moe_preprocess:
      return has_module(model, RecomputeModule::moe);
    case GraphModule::mamba:
      return model.has_layers(layer_symbols::mamba);
  }
  return false;
}

namespace {

// Returns whether a layer has attention that is not latent.
bool has_plain_attention(const Model& model) {
  if (model.pattern.empty()) return !model.latent;
  return model.has_layers(layer_symbols::attention) || model.has_layers(layer_symbols::sliding) ||
         model.has_layers(layer_symbols::parallel);
}

bool has_latent_attention(const Model& model) {
  if (model.pattern.empty()) return model.latent.has_value();
  return model.has_layers(layer_symbols::latent) || model.has_layers(layer_symbols::indexed);
}

}  // namespace

bool has_module(const Model& model, LoraModule module) {
  switch (module) {
    case LoraModule::linear_qkv:
    case LoraModule::q_proj:
    case LoraModule::k_proj:
    case LoraModule::v_proj:
      return has_plain_attention(model);
    case LoraModule::linear_proj:
      return has_plain_attention(model) || has_latent_attention(model);
    case LoraModule::linear_fc1:
    case LoraModule::linear_fc2:
    case LoraModule::up_proj:
      return has_module(model, RecomputeModule::mlp) || model.experts.has_value();
    case LoraModule::gate_proj:
      return model.gated && has_module(model, LoraModule::up_proj);
    case LoraModule::linear_q_down_proj:
      return has_latent_attention(model) && model.latent->query_rank > 0;
    case LoraModule::linear_q_up_proj:
    case LoraModule::linear_kv_down_proj:
    case LoraModule::linear_kv_up_proj:
      return has_latent_attention(model);
    case LoraModule::in_proj:
    case LoraModule::out_proj:
      return std::ranges::any_of(std::string_view("MGPC"),
                                 [&](char symbol) { return model.has_layers(symbol); });
  }
  return false;
}

namespace {

bool has_module(const Model& model, OffloadModule module) {
  const bool of_experts = module == OffloadModule::mlp_norm ||
                          module == OffloadModule::expert_fc1 || module == OffloadModule::moe_act;
  return !of_experts || model.experts.has_value();
}

// Throws an Error if the list of modules under `key` selects modules that the model does not have.
template <class Module, std::size_t count>
void check_modules(const Value& root, const Model& model, std::string_view key,
                   const std::array<std::string_view, count>& names,
                   const std::bitset<count>& selected) {
  std::vector<std::string_view> known;
  std::vector<std::string_view> unknown;
  for (std::size_t i = 0; i < count; ++i)
    if (has_module(model, static_cast<Module>(i)))
      known.push_back(names[i]);
    else if (selected.test(i))
      unknown.push_back(names[i]);
  if (!unknown.empty())
    throw Error(origin_of(root, key),
                fmt::format("{} has {}, which the layers of the model do not have", key,
                            fmt::join(unknown, " and ")))
        .allow(fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace

WeightGroups groups_of(const Model& model) {
  WeightGroups groups = ~WeightGroups{};
  const auto lacks = [&](WeightGroup group) { groups.reset(static_cast<std::size_t>(group)); };
  if (!model.experts) {
    lacks(WeightGroup::experts);
    lacks(WeightGroup::router);
  }
  if (model.tied_embeddings) lacks(WeightGroup::head);
  return groups;
}

std::string trained_text(const Model& model, const Training& training) {
  const WeightGroups frozen = training.frozen_groups() & groups_of(model);
  const WeightGroups trained = groups_of(model) & ~frozen;
  if (!training.lora && frozen.none()) return "";
  if (!training.lora && trained.none()) return "parts of the encoder of images alone";
  if (!training.lora) return fmt::format("all weights but {}", groups_text(frozen));
  return to_string(*training.lora) +
         (trained.none() ? "" : ", and all weights of " + groups_text(trained));
}

void check_cuda_graphs(const Value& root, const Model& model, const Training& training) {
  check_modules<GraphModule>(root, model, "training.cuda_graphs", graph_modules,
                             training.cuda_graphs.modules);
}

void check_recompute(const Value& root, const Model& model, const Training& training,
                     std::uint32_t stage_layers) {
  const Recompute& recompute = training.recompute;
  if (recompute.granularity == Recompute::Granularity::selective)
    check_modules<RecomputeModule>(root, model, "training.recompute.modules", recompute_modules,
                                   recompute.modules);
  check_layer_count(root, "training.recompute.num_layers", recompute.block, stage_layers);
  if (training.offload)
    check_modules<OffloadModule>(root, model, "training.offload.modules", offload_modules,
                                 training.offload->modules);
  if (training.offload && training.offload->layers)
    check_layer_count(root, "training.offload.num_layers", *training.offload->layers, stage_layers);
}

void check_fine_tuning(const Value& root, const Model& model, const Training& training) {
  if (!training.lora) {
    constexpr std::array of_experts{WeightGroup::experts, WeightGroup::router};
    WeightGroups frozen = training.frozen_groups();
    if (!model.experts)
      for (const WeightGroup group : of_experts) frozen.set(static_cast<std::size_t>(group));
    if (frozen.all() && !training.trains_vision())
      throw Error(origin_of(root, "training.frozen"),
                  "training.frozen has all weights of the model, so that nothing is trained",
                  "training.frozen")
          .suggest(
              "leave out a group, or train adapters (training.lora) or parts of an encoder of "
              "images (modules.vision.tokens)");
    if (!model.experts)
      for (const WeightGroup group : of_experts)
        if (training.freezes(group))
          throw Error(origin_of(root, "training.frozen"),
                      fmt::format("training.frozen has {}, which the model does not have",
                                  weight_groups[static_cast<std::size_t>(group)]),
                      "training.frozen")
              .suggest("leave it out");
    return;
  }
  const Lora& lora = *training.lora;
  // The default names the products of every transformer layer, which other models lack.
  if (value_at(root, "training.lora.modules") != nullptr)
    check_modules<LoraModule>(root, model, "training.lora.modules", lora_modules, lora.modules);
  for (std::size_t i = 0; i < lora_modules.size(); ++i) {
    const auto module = static_cast<LoraModule>(i);
    if (!lora.has(module) || !has_module(model, module)) continue;
    const bool of_mlp = module == LoraModule::linear_fc1 || module == LoraModule::linear_fc2 ||
                        module == LoraModule::gate_proj || module == LoraModule::up_proj;
    const bool is_frozen = of_mlp ? training.freezes(WeightGroup::mlp) &&
                                        (!model.experts || lora.experts == Lora::Experts::none ||
                                         training.freezes(WeightGroup::experts))
                                  : training.freezes(WeightGroup::attention);
    if (!is_frozen)
      throw Error(origin_of(root, "training.frozen"),
                  fmt::format("training.frozen lacks the weights of {}, which have adapters",
                              lora_modules[i]),
                  "training.frozen")
          .suggest(fmt::format("add {}", of_mlp ? "mlp and experts" : "attention"));
  }
  if (lora.base == Lora::Base::nf4 && is_scaled(training.precision))
    throw Error(
        origin_of(root, "training.lora.base"),
        fmt::format("training.lora.base is nf4, and products of {} do not read weights that "
                    "are dequantized to 16 bits",
                    name_of(training.precision)),
        "training.lora.base")
        .suggest("set training.precision to bf16");
}

void check_loss_chunks(const Value& root, const Model& model, const Training& training,
                       std::uint32_t cp) {
  const std::uint64_t tokens =
      std::uint64_t{training.microbatch_size} * training.sequence.value_or(model.sequence) / cp;
  if (training.loss_chunks > tokens)
    throw Error(origin_of(root, "training.loss_chunks"),
                fmt::format("training.loss_chunks is {}, and a GPU has {} tokens of a microbatch",
                            training.loss_chunks, tokens))
        .allow(fmt::format("1 to {}", tokens));
}

namespace {

constexpr std::string_view precision_key = "training.precision";

// Returns the key of a module's type, "training.precision.experts".
std::string key_of(PrecisionModule module) {
  return fmt::format("{}.{}", precision_key, precision_modules[static_cast<std::size_t>(module)]);
}

// Calls need(), which throws an Error if the GPU lacks the type that a key gives, and adds the key
// to this Error.
template <class Need>
void check_type(const Value& root, std::string_view key, DataType type, const Need& need) {
  try {
    need();
  } catch (const Error& error) {
    throw Error(origin_of(root, key),
                fmt::format("{} is {}, but {}", key, name_of(type), error.found()),
                std::string(key))
        .allow(error.allowed());
  }
}

bool has_module(const Model& model, PrecisionModule module) {
  const auto has_mixer = [&](std::string_view symbols) {
    return std::ranges::any_of(symbols, [&](char symbol) { return model.has_layers(symbol); });
  };
  switch (module) {
    case PrecisionModule::attention:
    case PrecisionModule::qkv:
    case PrecisionModule::proj:
      return has_module(model, GraphModule::attn);
    case PrecisionModule::in_proj:
    case PrecisionModule::out_proj:
      return has_mixer("MGPC");
    case PrecisionModule::mlp:
      return has_module(model, RecomputeModule::mlp);
    case PrecisionModule::router:
    case PrecisionModule::experts:
      return model.experts.has_value();
    case PrecisionModule::latent:
      return model.experts && model.experts->latent > 0;
    case PrecisionModule::shared_experts:
      return has_module(model, RecomputeModule::shared_experts);
    case PrecisionModule::mtp:
      return model.mtp_layers > 0;
    case PrecisionModule::head:
      return true;
  }
  return false;
}

}  // namespace

void check_precision(const Value& root, const Training& training, const Gpu& gpu) {
  const auto check_products = [&](std::string_view key, DataType type) {
    check_type(root, key, type, [&] { products_of(gpu, type); });
  };
  check_products(precision_key, training.precision);
  for (std::size_t i = 0; i < precision_modules.size(); ++i) {
    const auto module = static_cast<PrecisionModule>(i);
    const auto& type = training.module_types.of(module);
    if (!type) continue;
    const std::string key = key_of(module);
    check_products(key, *type);
    if (module == PrecisionModule::attention && is_scaled(*type))
      check_type(root, key, *type,
                 [&] { attention_kernel_of(gpu, training.stack.attention, *type); });
  }
}

void check_module_types(const Value& root, const Model& model, const Training& training) {
  const ModuleTypes& types = training.module_types;
  if (types == ModuleTypes{}) return;
  for (std::size_t i = 0; i < precision_modules.size(); ++i) {
    const auto module = static_cast<PrecisionModule>(i);
    if (types.of(module) && !has_module(model, module))
      throw Error(origin_of(root, key_of(module)),
                  fmt::format("{} is set, and the model has no such products", key_of(module)),
                  key_of(module))
          .suggest("leave it out");
  }
  if (std::uint64_t{types.layers_at_start} + types.layers_at_end > model.layers)
    throw Error(
        origin_of(root, precision_key),
        fmt::format("{} keeps {} layers at the start and {} at the end in bf16, and the "
                    "model has {} layers",
                    precision_key, types.layers_at_start, types.layers_at_end, model.layers),
        std::string(precision_key));
  const auto& attention = types.of(PrecisionModule::attention);
  if (attention && is_scaled(*attention) && !training.flash_attention)
    throw Error(origin_of(root, key_of(PrecisionModule::attention)),
                fmt::format("{} is {}, but attention that stores its scores computes in 16 bits",
                            key_of(PrecisionModule::attention), name_of(*attention)),
                key_of(PrecisionModule::attention))
        .suggest("set training.flash_attention to true, or leave the key out");
  if (has_own_base(training))
    throw Error(origin_of(root, "training.lora.base"),
                "training.lora.base stores frozen weights in a type of its own, and "
                "training.precision has types of modules",
                "training.lora.base")
        .suggest("leave out one of the two");
}

}  // namespace pipewright::config
