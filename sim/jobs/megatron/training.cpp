#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/recompute.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"

namespace pipewright::jobs::megatron {
void read_batch(Draft& draft) {
  if (draft.find("micro_batch_size") == nullptr && draft.request().dialect == Dialect::megatron)
    throw refusal(draft.request(), "--micro-batch-size is missing: Megatron-LM asks for it");
  if (const Setting* const ramp = draft.find("rampup_batch_size"); ramp != nullptr)
    draft.assume(fmt::format("{}: the batch is the final one", ramp->written));
  const std::uint64_t micro = draft.count_at("training.microbatch_size", 1);
  const std::uint64_t dp = draft.count_at("parallel.dp", 0);
  const auto batch = draft.count("global_batch_size");
  if (!batch || *batch == 0) {
    if (dp > 0)
      draft.set("global_batch", fmt::format("{}", micro * dp),
                "--micro-batch-size x data-parallel size, without --global-batch-size");
    else
      draft.lacks("global_batch");
    return;
  }
  const Setting& setting = *draft.find("global_batch_size");
  if (dp > 0 && micro > 0 && *batch % (micro * dp) != 0)
    throw refusal(setting, fmt::format("global batch size ({}) is not divisible by micro batch "
                                       "size ({}) times data parallel size ({})",
                                       *batch, micro, dp));
  draft.set("global_batch", fmt::format("{}", *batch), setting);
}

void read_precision(Draft& draft) {
  const Setting* const half = draft.find("fp16");
  const Setting* const brain = draft.find("bf16");
  const Setting* const format = draft.find("fp8_format");
  const Setting* const recipe = draft.find("fp8_recipe");
  const Setting* const four = draft.find("fp4_format");
  if (half != nullptr && draft.on("fp16") && draft.on("bf16") && has_argument_defaults(draft))
    throw refusal(*half, fmt::format("Only one of fp16 and bf16 should be True; {} is given at {}",
                                     brain->written, config::to_string(brain->origin)));
  const bool has_eight =
      format != nullptr && !format->values.empty() && !is_off(format->values.front());
  if (four != nullptr && !four->values.empty() && !is_off(four->values.front()))
    return draft.set("training.precision", "nvfp4", *four);
  if (has_eight) {
    if (recipe == nullptr || recipe->values.empty())
      return draft.set("training.precision", "fp8", *format);
    const std::string name = word_for("delayed=fp8 tensorwise=fp8 mxfp8=mxfp8 blockwise=fp8-block",
                                      recipe->values.front());
    if (name.empty())
      return draft.not_understood(*recipe,
                                  "only delayed, tensorwise, blockwise and mxfp8 are read");
    return draft.set("training.precision", name, *recipe);
  }
  if (recipe != nullptr) draft.without_effect(*recipe, "without --fp8-format");
  // The flags of Megatron-LM before --fp8-format.
  for (const char* const older : {"fp8_e4m3", "fp8_hybrid"})
    if (draft.on(older)) return draft.set("training.precision", "fp8", *draft.find(older));
  if (half != nullptr && draft.on("fp16")) return draft.set("training.precision", "fp16", *half);
  if (brain != nullptr && draft.on("bf16")) return draft.set("training.precision", "bf16", *brain);
  if (has_argument_defaults(draft))
    draft.assume(
        "training is in bf16; without --bf16 or --fp16 it would be in fp32, which "
        "training.precision: fp32 (or tf32) predicts");
}

namespace {

// Returns the recipe of the draft; empty if it has none.
std::string recipe_of(const Draft& draft) {
  const config::Value* recipe = draft.at("training.precision");
  if (recipe != nullptr && recipe->kind == config::Value::Kind::map)
    recipe = config::find(*recipe, "default");
  return recipe == nullptr ? "" : recipe->text;
}

// Reads whether attention computes in FP8. The recipe of Transformer Engine decides the type,
// unless a variable names another recipe for attention. Float8BlockScaling has no FP8 attention
// (get_fp8_recipe in megatron/core/fp8_utils.py), nor has NVFP4BlockScaling.
void read_attention_type(Draft& draft, const std::string& recipe) {
  constexpr std::string_view key = "training.precision.attention";
  const Setting* variable = draft.find("nvte_dpa_fp8_recipe");
  if (variable != nullptr && draft.text(variable->name).empty()) variable = nullptr;
  const Setting* const setting = draft.find("fp8_dot_product_attention");
  if (setting == nullptr || !draft.on("fp8_dot_product_attention")) {
    if (variable != nullptr) draft.without_effect(*variable, "without --fp8-dot-product-attention");
    return;
  }
  std::string type = word_for("fp8=fp8 mxfp8=mxfp8", recipe);
  if (variable != nullptr) {
    const std::string named =
        word_for("F16=bf16 DelayedScaling=fp8 Float8CurrentScaling=fp8 MXFP8BlockScaling=mxfp8",
                 draft.text("nvte_dpa_fp8_recipe"));
    if (named.empty())
      draft.not_understood(
          *variable,
          "only F16, DelayedScaling, Float8CurrentScaling and MXFP8BlockScaling are read");
    else if (recipe != "fp8-block")
      type = named;
  }
  if (type.empty())
    return draft.without_effect(
        *setting, "Transformer Engine has no FP8 attention for this recipe of the other products");
  if (type != "bf16") draft.set(key, type, variable != nullptr ? *variable : *setting);
}

// Reads the layers at the ends of the model that stay in 16 bits. Megatron-LM has one of each by
// default, and Megatron-Bridge none (MixedPrecisionConfig).
void read_plain_layers(Draft& draft, const std::string& recipe) {
  const Setting* const ends = draft.find("first_last_layers_bf16");
  const bool is_on = draft.on("first_last_layers_bf16");
  if (is_on && recipe == "fp8" && draft.text("fp8_recipe", "delayed") == "delayed" &&
      has_argument_defaults(draft))
    throw refusal(*ends, "Delayed scaling does not support first / last layer in BF16.");
  for (const auto& [name, key] :
       {std::pair{"num_layers_at_start_in_bf16", "training.precision.num_layers_at_start_in_bf16"},
        std::pair{"num_layers_at_end_in_bf16", "training.precision.num_layers_at_end_in_bf16"}}) {
    const Setting* const setting = draft.find(name);
    if (!is_on) {
      if (setting != nullptr) draft.without_effect(*setting, "without --first-last-layers-bf16");
      continue;
    }
    const std::uint64_t count = setting != nullptr             ? whole_number(*setting)
                                : has_argument_defaults(draft) ? 1
                                                               : 0;
    if (count > 0) draft.set(key, fmt::format("{}", count), setting != nullptr ? *setting : *ends);
  }
}

}  // namespace

void read_module_types(Draft& draft) {
  const std::string recipe = recipe_of(draft);
  if (!recipe.starts_with("fp8") && recipe != "mxfp8" && recipe != "nvfp4") {
    for (const char* const name :
         {"fp8_dot_product_attention", "nvte_dpa_fp8_recipe", "fp8_output_proj",
          "first_last_layers_bf16", "num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16"})
      if (const Setting* const setting = draft.find(name))
        draft.without_effect(*setting, "without --fp8-format or --fp4-format");
    return;
  }
  read_attention_type(draft, recipe);
  read_plain_layers(draft, recipe);
  if (const Setting* const head = draft.find("fp8_output_proj");
      head != nullptr && draft.on("fp8_output_proj")) {
    if (recipe != "mxfp8")
      throw refusal(*head, fmt::format("fp8_output_proj requires fp8_recipe='mxfp8', got '{}'.",
                                       draft.text("fp8_recipe", "delayed")));
    draft.set("training.precision.head", "mxfp8", *head);
  }
}

// Reads in which data type gradients are accumulated and reduced, and the size of gradient buckets.
void read_gradients(Draft& draft) {
  const Setting* const brain = draft.find("grad_reduce_in_bf16");
  const bool whole = draft.on("accumulate_allreduce_grads_in_fp32");
  const Setting* from = brain != nullptr && draft.on("grad_reduce_in_bf16") ? brain : nullptr;
  const Setting* const half = draft.find("fp16");
  if (from == nullptr && has_argument_defaults(draft) && half != nullptr && draft.on("fp16") &&
      !whole)
    from = half;
  if (from != nullptr) {
    draft.set("communication.gradient_bytes", "2", *from);
    const std::string comment =
        from == half ? fmt::format("{}, of the same 16 bits", half->written) : from->written;
    draft.set("training.optimizer.main_grads", "bf16", comment, from->origin);
  } else if (whole && draft.request().dialect == Dialect::deepspeed) {
    const Setting& full = *draft.find("accumulate_allreduce_grads_in_fp32");
    draft.set("communication.gradient_bytes", "4", full);
    draft.set("training.bytes.gradients", "4", full);
  } else if (draft.request().dialect == Dialect::deepspeed) {
    const std::string comment = "DeepSpeed reduces gradients in the data type of the weights";
    draft.set_default("communication.gradient_bytes", "2", comment);
    draft.set_default("training.bytes.gradients", "2", comment);
  }
  if (const auto bucket = draft.count("ddp_bucket_size"))
    draft.set("communication.bucket",
              fmt::format("{}", std::min<std::uint64_t>(*bucket, 1ULL << 40U) *
                                    draft.count_at("communication.gradient_bytes", 4)),
              *draft.find("ddp_bucket_size"));
}

namespace {

// Returns the first of these settings that the job has; null if there is none. All count as read.
const Setting* find_first(Draft& draft, std::initializer_list<std::string_view> names) {
  const Setting* first = nullptr;
  for (const std::string_view name : names)
    if (const Setting* const setting = draft.find(name); first == nullptr) first = setting;
  return first;
}

std::string first_value(const Setting* setting) {
  return setting == nullptr || setting->values.empty() || is_off(setting->values.front())
             ? ""
             : setting->values.front();
}

void read_recomputed_modules(Draft& draft, const Setting& from) {
  draft.set("training.recompute.granularity", "selective", from);
  const Setting* const modules = draft.find("recompute_modules");
  if (first_value(modules).empty()) return;
  std::vector<std::string> modelled;
  for (const std::string& name : modules->values) {
    if (std::ranges::find(config::recompute_modules, name) != config::recompute_modules.end())
      modelled.push_back(name);
    else
      draft.not_understood(*modules, fmt::format("the module {} is not read", name));
  }
  if (!modelled.empty())
    draft.set("training.recompute.modules", config::make_list(modelled, modules->origin),
              modules->written);
}

}  // namespace

namespace {

// Granularity of recomputation, and the setting that chooses it.
struct Granularity {
  std::string kind;  // "full" or "selective"; empty: nothing is recomputed
  const Setting* from = nullptr;
  bool is_by_older_flags = false;
};

Granularity read_granularity(Draft& draft) {
  const Setting* const activations = draft.find("recompute_activations");
  const Setting* const granularity = draft.find("recompute_granularity");
  const Setting* const modules = draft.find("recompute_modules");
  const Setting* const older = draft.find("checkpoint_activations");
  const Setting* const older_method = draft.find("activations_checkpoint_method");
  const std::string kind = granularity != nullptr ? draft.text("recompute_granularity") : "";
  if (!kind.empty() && !is_off(kind)) {
    if (kind != "full" && kind != "selective")
      throw refusal(*granularity, "invalid choice (choose from full, selective)");
    return {kind, granularity};
  }
  if (draft.on("recompute_activations")) return {"selective", activations};
  // Recipes may list modules without a granularity.
  if (modules != nullptr && !modules->values.empty() && !has_argument_defaults(draft))
    return {"selective", modules};
  // Before May 2022, Megatron-LM had only full granularity, and each of two flags turned it on.
  if (draft.on("checkpoint_activations")) return {"full", older, true};
  if (has_argument_defaults(draft) && !first_value(older_method).empty())
    return {"full", older_method, true};
  return {};
}

}  // namespace

void read_recompute(Draft& draft) {
  const Setting* const granularity = draft.find("recompute_granularity");
  const auto [kind, from, by_older_flags] = read_granularity(draft);
  const Setting* const method =
      find_first(draft, {"recompute_method", "activations_checkpoint_method"});
  const Setting* const layers = find_first(
      draft,
      {"recompute_num_layers", "activations_checkpoint_num_layers", "checkpoint_num_layers"});
  const std::string way = first_value(method);
  const std::optional<std::uint64_t> given =
      layers != nullptr ? draft.count(layers->name) : std::nullopt;
  const std::uint64_t count = given.value_or(0);
  if (kind.empty()) return;
  if (kind == "selective") {
    // Only validate_args() of Megatron-LM refuses a method. Recipes go to Megatron-Core without it,
    // and NeMo's own layers (modules/common/megatron/transformer.py) say that selective
    // recomputation is in all layers, whatever the method.
    const bool is_number = !first_value(layers).empty() && !is_older(draft.request());
    if (!way.empty() && has_argument_defaults(draft))
      throw refusal(*method,
                    "recompute method is not yet supported for selective recomputing "
                    "granularity");
    if (is_number && has_argument_defaults(draft))
      throw refusal(
          *layers, "When using recompute_granularity: selective recompute_num_layers must be None");
    for (const Setting* const setting : {method, layers})
      if (setting != nullptr)
        draft.without_effect(*setting, "selective recomputation is in all layers");
    return read_recomputed_modules(draft, *from);
  }
  if (way == "block" && given && count == 0) {
    for (const Setting* const setting : {granularity, method, layers})
      if (setting != nullptr)
        draft.without_effect(*setting, "a block of 0 layers, in which nothing is recomputed");
    return;
  }
  draft.set("training.recompute.granularity", "full", *from);
  if (way.empty() && !by_older_flags) {
    if (has_argument_defaults(draft))
      throw refusal(*from,
                    "\"full\" granularity asks for --recompute-method uniform or block, and "
                    "for --recompute-num-layers");
    return;
  }
  if (!way.empty()) draft.set("training.recompute.method", way, *method);
  if (count > 0)
    draft.set("training.recompute.num_layers", fmt::format("{}", count), *layers);
  else if (by_older_flags && way == "block")
    draft.set("training.recompute.num_layers", "1", "without --activations-checkpoint-num-layers");
}

void read_attention_backend(Draft& draft) {
  const Setting* const backend = draft.find("attention_backend");
  const Setting* const implementation = draft.find("transformer_impl");
  const Setting* flash = nullptr;
  for (const char* const name :
       {"use_flash_attn", "use_flash_attn_v1", "use_flash_attn_v2", "use_flash_attn_triton"})
    if (draft.on(name)) flash = draft.find(name);
  const bool is_local = implementation != nullptr && draft.text("transformer_impl") == "local";
  if (is_local) draft.set("stack.like", std::string(local_stack), *implementation);
  const bool chooses =
      backend != nullptr && !backend->values.empty() && !backend->values.front().ends_with("auto");
  if (chooses) {
    const std::string name = backend->values.front();
    // On ROCm both backends run Composable Kernel.
    const auto set_kernels = [&](const std::vector<std::string>& kernels) {
      draft.set("stack.attention", config::make_list(kernels, backend->origin), *backend);
    };
    if (name.ends_with("unfused") || name.ends_with("local"))
      draft.set("training.flash_attention", "false", *backend);
    else if (name.ends_with("flash"))
      set_kernels({"fa2", "ck"});
    else if (name.ends_with("fused"))
      set_kernels({"cudnn", "ck"});
  } else if (flash != nullptr && (is_local || is_older(draft.request()))) {
    draft.set("training.flash_attention", "true", *flash);
  }
}

void read_dispatcher(Draft& draft) {
  const Setting* const type = draft.find("moe_token_dispatcher_type");
  const Setting* const backend = draft.find("moe_flex_dispatcher_backend");
  const Setting* const deepep = draft.find("moe_enable_deepep");
  const Setting* const deepep_sms = draft.find("moe_deepep_num_sms");
  const Setting* const hybridep_sms = draft.find("moe_hybridep_num_sms");
  const Setting* const flex_sms = draft.find("moe_flex_dispatcher_num_sms");
  if (!may_have_experts(draft)) {
    for (const Setting* const setting : {type, backend, deepep, deepep_sms, hybridep_sms, flex_sms})
      if (setting != nullptr) draft.without_effect(*setting, "without experts");
    return;
  }
  const std::string name = draft.text("moe_token_dispatcher_type", "allgather");
  if (name != "flex") {
    if (type != nullptr)
      draft.set("training.experts.dispatcher", name == "alltoall_seq" ? "alltoall" : name, *type);
    else if (has_argument_defaults(draft))
      draft.set("training.experts.dispatcher", "allgather", "without --moe-token-dispatcher-type");
    return;
  }
  std::string kernels = backend != nullptr ? draft.text("moe_flex_dispatcher_backend") : "deepep";
  if (is_off(kernels)) kernels = "deepep";
  if (kernels != "deepep" && kernels != "hybridep")
    return draft.not_understood(*backend, "only deepep and hybridep are read");
  draft.set("training.experts.dispatcher", kernels, backend != nullptr ? *backend : *type);
  const Setting* sms = kernels == "deepep" ? deepep_sms : hybridep_sms;
  if (flex_sms != nullptr) sms = flex_sms;
  if (sms != nullptr && !sms->values.empty() && !is_off(sms->values.front()))
    draft.set("training.experts.sms", fmt::format("{}", whole_number(*sms)), *sms);
}

// Without a flag of these, the stack's default applies: the router learns.
void read_routing(Draft& draft) {
  const Setting* const force = draft.find("moe_router_force_load_balancing");
  const Setting* const type = draft.find("moe_router_load_balancing_type");
  const bool is_forced = draft.on("moe_router_force_load_balancing");
  const std::string method = draft.text("moe_router_load_balancing_type");
  if (may_have_experts(draft)) {
    if (is_forced) return draft.set("training.experts.routing", "forced", *force);
    // Sinkhorn's algorithm assigns about the same number of tokens to all experts in training.
    if (method == "sinkhorn") return draft.set("training.experts.routing", "forced", *type);
    if (method == "none" && !draft.on("moe_router_enable_expert_bias"))
      draft.assume(
          "the router has no balance loss, and its routing is as even as with such a loss; "
          "training.experts.power_law makes it less even");
  }
  for (const Setting* const setting : {force, type})
    if (setting != nullptr) draft.without_effect(*setting, "routing is natural either way");
}

void read_fp8_param_gather(Draft& draft) {
  if (const Setting* const gather = draft.find("fp8_param_gather");
      gather != nullptr && draft.on("fp8_param_gather")) {
    const std::string recipe = recipe_of(draft);
    if (!recipe.empty() && !recipe.starts_with("fp8") && recipe != "mxfp8")
      draft.drop("training.fp8_param_gather");
  }
  const config::Value* const precision = draft.at("training.precision");
  if (draft.on("fp4_param_gather") && precision != nullptr && precision->text == "nvfp4")
    draft.set("training.fp8_param_gather", "true", *draft.find("fp4_param_gather"));
}

namespace {

// The precision-aware optimizer stores main weights without the halves that the bf16 weights have,
// unless a setting says otherwise (store_param_remainders of optimizer_config.py). The optimizer of
// the CPU, HybridDeviceOptimizer, has whole main weights (core/optimizer/__init__.py).
void read_remainders(Draft& draft) {
  if (draft.on("optimizer_cpu_offload")) return;
  const Setting* const store = draft.find("store_param_remainders");
  const bool never = store != nullptr && !draft.on("store_param_remainders");
  const config::Value* const type = draft.at("training.optimizer.main_params");
  const config::Value* const gathers = draft.at("training.fp8_param_gather");
  const bool has_halves = !draft.on("fp16") && (gathers == nullptr || gathers->text != "true");
  if (never || !has_halves || (type != nullptr && type->text != "fp32")) return;
  draft.set("training.optimizer.main_params", "remainders",
            store != nullptr ? store->written : "by default of --use-precision-aware-optimizer");
}

// Reads the settings of Muon. The layer-wise optimizer gives whole matrices to ranks: in padded
// buffers if DDP has them, as by default of Megatron-LM's arguments (arguments.py, training.py), or
// else by their size, with gradients that are all-reduced. Recipes of Megatron Bridge have no such
// buffers (training/optim.py).
void read_muon(Draft& draft, const Setting& optimizer) {
  for (const char* const name : {"use_megatron_fsdp", "use_torch_fsdp2"})
    if (draft.on(name))
      throw refusal(*draft.find(name),
                    "Emerging optimizer does not support FSDP for now (of --optimizer muon)");
  if (draft.on("fp16"))
    throw refusal(*draft.find("fp16"), "emerging optimizer with fp16 is not supported.");
  draft.set("training.optimizer.name", "muon", optimizer);
  const Setting* const layout = draft.find("no_use_layer_wise_param_layout");
  const config::Value* const zero = draft.at("parallel.zero");
  if (zero == nullptr || zero->text == "0") {
    if (layout != nullptr) draft.without_effect(*layout, "without --use-distributed-optimizer");
    return;
  }
  if (layout == nullptr && has_argument_defaults(draft)) return;
  const Setting& from = layout != nullptr ? *layout : optimizer;
  draft.set("training.optimizer.layout", "ping_pong", from);
  draft.set("communication.zero_gradients", "all_reduce", from);
}

}  // namespace

// Reads the variable of PyTorch's allocator. Expandable segments give back each free page of 20 MiB
// (c10/cuda/CUDACachingAllocator.cpp), so about a page is lost beside each tensor; tensors of 1 GiB
// are assumed.
void read_allocator(Draft& draft) {
  constexpr std::string_view expandable = "expandable_segments:True";
  const Setting* const conf = draft.find("pytorch_cuda_alloc_conf");
  if (conf == nullptr) return;
  if (draft.text("pytorch_cuda_alloc_conf").find(expandable) == std::string::npos)
    return draft.not_modelled(*conf, Changes::memory,
                              "another way in which PyTorch's allocator keeps free memory; "
                              "training.fragmentation states what it wastes");
  draft.set("training.fragmentation", "2 %", *conf);
  draft.assume("expandable segments waste 2 % of the activations");
}

namespace {

// Settings of Muon, and the keys that the table of flags sets from them.
struct MuonSetting {
  std::string_view name, key;
};
constexpr std::array muon_settings{
    MuonSetting{"no_use_layer_wise_param_layout", "training.optimizer.layout"},
    MuonSetting{"muon_num_ns_steps", "training.optimizer.ns_steps"},
    MuonSetting{"muon_tp_mode", "training.optimizer.tp_mode"},
    MuonSetting{"muon_fp32_matmul_prec", "training.optimizer.ns_precision"},
    MuonSetting{"muon_no_split_qkv", "training.optimizer.split_qkv"},
    MuonSetting{"muon_split_qkv", "training.optimizer.split_qkv"},
};

// Drops what a job says of Muon's iterations if another optimizer updates its weights.
void drop_muon_settings(Draft& draft) {
  const config::Value* const name = draft.at("training.optimizer.name");
  if (name != nullptr && name->text == "muon") return;
  for (const MuonSetting& row : muon_settings)
    if (const Setting* const setting = draft.find(row.name)) {
      draft.drop(row.key);
      draft.without_effect(*setting, "without --optimizer muon");
    }
}

}  // namespace

void read_optimizer(Draft& draft) {
  if (const Setting* const optimizer = draft.find("optimizer");
      optimizer != nullptr && !optimizer->values.empty()) {
    const std::string& name = optimizer->values.front();
    // "adamw_torch_fused" of PyTorch; optimizers of 8 bits have smaller states.
    const bool is_adam = name == "adam" || name == "adamw" || name.starts_with("adamw_torch") ||
                         name.find("fused_adam") != std::string::npos;
    if (is_adam && name.find("bit") == std::string::npos)
      draft.without_effect(*optimizer, "Adam, which is modelled");
    else if (name == "muon" || name == "dist_muon")
      read_muon(draft, *optimizer);
    else
      draft.not_modelled(*optimizer, Changes::time_and_memory,
                         "an optimizer with other state than Adam's, which is predicted");
  }
  drop_muon_settings(draft);
  if (!draft.on("use_precision_aware_optimizer")) {
    if (const Setting* const store = draft.find("store_param_remainders"))
      draft.without_effect(*store, "without --use-precision-aware-optimizer");
    return;
  }
  if (draft.at("parallel.zero") == nullptr)
    throw refusal(*draft.find("use_precision_aware_optimizer"),
                  "--use-precision-aware-optimizer only supported with distributed optimizer");
  read_remainders(draft);
}

}  // namespace pipewright::jobs::megatron
