#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"
#include "sim/jobs/request/differences.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/stage_layers.hpp"

namespace pipewright::jobs::megatron {
namespace {

using config::Scenario;

std::uint64_t chunk_count(const Scenario& scenario) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const auto& chunks = spec[&schedules::Parameters::chunks];
  return chunks ? chunks->value : 1;
}

std::uint64_t stage_count(const Scenario& scenario) {
  return std::uint64_t{scenario.devices.value} * chunk_count(scenario);
}

// Layers of each stage; empty if only a plan would know them.
std::vector<std::uint32_t> layers_of_stages(const SettingsWriter& writer) {
  return planned_stage_layers(writer.scenario(), writer.plan(), stage_count(writer.scenario()));
}

// True if stages have numbers of layers that only a list of all stages can express.
bool needs_layout(const SettingsWriter& writer) {
  using Rule = config::Partition::Rule;
  const Scenario& scenario = writer.scenario();
  const config::Partition& partition = scenario.partition;
  const std::uint64_t layers = scenario.model->value.layers;
  const std::uint64_t stages = stage_count(scenario);
  if (stages == 1) return false;
  switch (partition.rule) {
    case Rule::listed:
      return true;
    case Rule::even:
      return layers % stages != 0;
    case Rule::ends_less:
      return (layers + (partition.embedding_counts ? 1 : 0) + (partition.loss_counts ? 1 : 0)) %
                 stages !=
             0;
    case Rule::by_cost:
    case Rule::by_weights: {
      const std::vector<std::uint32_t> planned = layers_of_stages(writer);
      return std::ranges::adjacent_find(planned, std::ranges::not_equal_to()) != planned.end();
    }
    case Rule::layout:
    case Rule::ends:
      break;
  }
  return false;
}

// Writes a layout: the layers of each stage as the letters E, t, m, L.
void write_layout(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const std::vector<std::uint32_t> layers = layers_of_stages(writer);
  std::string layout = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) layout += "|";
    if (layers[i] == 1) layout += "t";
    if (layers[i] > 1) layout += fmt::format("t*{}", layers[i]);
  }
  if (const std::uint32_t modules = scenario.model->value.mtp_layers; modules > 0)
    layout += modules == 1 ? "m" : fmt::format("m*{}", modules);
  writer.add("pipeline_model_parallel_layout", layout + "L");
}

// Symbols of a hybrid's layers, with | at the ends of stages if these are listed.
std::string pattern_of(const SettingsWriter& writer) {
  const std::vector<std::string>& symbols = writer.scenario().model->value.pattern;
  if (!needs_layout(writer)) return fmt::format("{}", fmt::join(symbols, ""));
  std::string pattern;
  std::size_t next = 0;
  for (const std::uint32_t count : layers_of_stages(writer)) {
    if (!pattern.empty()) pattern += "|";
    for (std::uint32_t i = 0; i < count && next < symbols.size(); ++i) pattern += symbols[next++];
  }
  return pattern;
}

// Writes the types of modules that have flags. Others would need a file of patterns.
void write_module_types(SettingsWriter& writer) {
  using config::PrecisionModule;
  const config::Training& training = writer.scenario().training;
  const config::ModuleTypes& types = training.module_types;
  for (std::size_t i = 0; i < config::precision_modules.size(); ++i) {
    const auto module = static_cast<PrecisionModule>(i);
    const config::DataType type = type_of(training.precision, types, module);
    if (type == type_of(training.precision, {}, module)) continue;
    const bool is_recipe = type == training.precision;
    if (module == PrecisionModule::attention && is_recipe)
      writer.add("fp8_dot_product_attention");
    else if (module == PrecisionModule::head && is_recipe && type == config::DataType::mxfp8)
      writer.add("fp8_output_proj");
    else
      writer.cannot(fmt::format("training.precision.{}", config::precision_modules[i]),
                    module == PrecisionModule::attention
                        ? "Transformer Engine takes the recipe of attention from the variable "
                          "NVTE_DPA_FP8_RECIPE"
                        : "types of modules need a file for --te-precision-config-file");
  }
  if (types.layers_at_start + types.layers_at_end > 0) {
    writer.add("first_last_layers_bf16");
    writer.add("num_layers_at_start_in_bf16", types.layers_at_start);
    writer.add("num_layers_at_end_in_bf16", types.layers_at_end);
  } else if (!writer.writes_arguments() && training.precision == config::DataType::fp8) {
    // Megatron-Bridge's recipes of tensorwise scaling keep the first and the last layer in bf16.
    writer.add("first_last_layers_bf16", "false");
  }
}

void write_precision(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const std::string_view name = config::name_of(scenario.training.precision);
  if (name == "fp8-row")
    writer.cannot("training.precision", "Transformer Engine has no recipe with a scale per row");
  write_module_types(writer);
  writer.add(name == "fp16" ? "fp16" : "bf16");
  if (name == "nvfp4") writer.add("fp4_format", "e2m1");
  if (!name.starts_with("fp8") && name != "mxfp8") return;
  writer.add("fp8_format", name == "fp8-block" ? "e4m3" : "hybrid");
  writer.add("fp8_recipe", name == "mxfp8"       ? "mxfp8"
                           : name == "fp8-block" ? "blockwise"
                                                 : "tensorwise");
}

// Writes the backend if the stack has only kernels of one. If it prefers several, Transformer
// Engine chooses, as its stack does.
void write_attention_backend(SettingsWriter& writer) {
  const config::Training& training = writer.scenario().training;
  const bool is_local = training.stack.name == local_stack;
  if (is_local) writer.add("transformer_impl", "local");
  if (!training.flash_attention) return writer.add("attention_backend", "unfused");
  if (is_local) return writer.add("use_flash_attn");
  using config::AttentionKernel;
  const auto has = [&](AttentionKernel kernel) {
    return std::ranges::find(training.stack.attention, kernel) != training.stack.attention.end();
  };
  const bool fused = has(AttentionKernel::cudnn) || has(AttentionKernel::cudnn_9_2);
  const bool flash = has(AttentionKernel::fa2) || has(AttentionKernel::fa3);
  if (fused != flash) writer.add("attention_backend", fused ? "fused" : "flash");
}

// Adds a setting that lists the selected ones of the modules `names`.
template <std::size_t count>
void add_modules(SettingsWriter& writer, std::string_view name,
                 const std::array<std::string_view, count>& names,
                 const std::bitset<count>& selected) {
  Setting modules{.name = std::string(name)};
  for (std::size_t i = 0; i < count; ++i)
    if (selected.test(i)) modules.values.emplace_back(names[i]);
  writer.settings.push_back(std::move(modules));
}

void write_cuda_graphs(SettingsWriter& writer) {
  using Scope = config::CudaGraphs::Scope;
  const config::CudaGraphs& graphs = writer.scenario().training.cuda_graphs;
  if (graphs.scope == Scope::none) return;
  constexpr std::array<std::string_view, 4> implementations{"none", "local", "full_iteration",
                                                            "transformer_engine"};
  writer.add("cuda_graph_impl", base::name_of(implementations, graphs.scope));
  if (graphs.scope == Scope::modules)
    add_modules(writer, "cuda_graph_modules", config::graph_modules, graphs.modules);
}

void write_recompute(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  using Granularity = config::Recompute::Granularity;
  const config::Recompute& recompute = scenario.training.recompute;
  if (recompute.granularity == Granularity::none) return;
  if (recompute.granularity == Granularity::op || recompute.every > 1)
    return writer.cannot("training.recompute",
                         "only torchtitan recomputes by operations, or one layer in several");
  if (recompute.granularity == Granularity::selective) {
    writer.add("recompute_granularity", "selective");
    return add_modules(writer, "recompute_modules", config::recompute_modules, recompute.modules);
  }
  writer.add("recompute_granularity", "full");
  writer.add("recompute_method", recompute.block > 0 ? "block" : "uniform");
  writer.add("recompute_num_layers", recompute.block > 0 ? recompute.block : recompute.uniform);
}

// Writes the size of gradient buckets if it is a whole number of parameters. Recipes have no such
// flag.
void write_bucket(SettingsWriter& writer) {
  const std::optional<std::uint64_t> parameters =
      config::bucket_parameters(writer.scenario().communication);
  if (parameters && writer.writes_arguments()) writer.add("ddp_bucket_size", *parameters);
}

// Writes Muon, whose matrices the ranks of the distributed optimizer share as a whole. Recipes name
// that optimizer dist_muon and have no padded layout.
void write_muon(SettingsWriter& writer) {
  using config::Optimizer;
  const Optimizer& optimizer = writer.scenario().training.optimizer;
  const std::uint32_t zero = writer.scenario().parallel.zero;
  if (optimizer.name != Optimizer::Name::muon) {
    if (optimizer.name != Optimizer::Name::adam)
      writer.cannot("training.optimizer.name",
                    fmt::format("Megatron-LM has no {}",
                                base::name_of(config::optimizer_names, optimizer.name)));
    for (const char* const name : {"muon_num_ns_steps", "muon_tp_mode", "muon_fp32_matmul_prec",
                                   "muon_no_split_qkv", "muon_split_qkv"})
      writer.remove({name});
    return;
  }
  if (zero > 1 || config::mode_of(optimizer, zero) != Optimizer::Mode::layer_wise)
    writer.cannot("training.optimizer.mode",
                  "Megatron-LM's Muon gives whole matrices to ranks, with parallel.zero 1");
  const bool is_dealt = zero == 1 && optimizer.layout == Optimizer::Layout::ping_pong;
  writer.add("optimizer", zero == 1 && !writer.writes_arguments() ? "dist_muon" : "muon");
  if (is_dealt && writer.writes_arguments()) writer.add("no_use_layer_wise_param_layout");
}

void write_optimizer(SettingsWriter& writer) {
  write_muon(writer);
  const Scenario& scenario = writer.scenario();
  const config::Optimizer& optimizer = scenario.training.optimizer;
  const bool half = scenario.communication.gradient_bytes == 2;
  const bool sums_half = optimizer.main_grads == config::Optimizer::MainGrads::bf16;
  const bool is_fp16 = scenario.training.precision == config::DataType::fp16;
  if (half && !is_fp16) writer.add("grad_reduce_in_bf16");
  if (is_fp16 && !half) writer.add("accumulate_allreduce_grads_in_fp32");
  const config::Optimizer usual;
  const bool aware = optimizer.exp_avg != usual.exp_avg ||
                     optimizer.exp_avg_sq != usual.exp_avg_sq ||
                     optimizer.main_params != usual.main_params;
  const bool turns_on = aware || (sums_half && !half) || optimizer.offload;
  if (turns_on) writer.add("use_precision_aware_optimizer");
  // Megatron-LM has no argument for this setting of its configuration.
  if (turns_on && !writer.writes_arguments() && optimizer.main_params == usual.main_params)
    writer.add("store_param_remainders", "false");
  // Only the precision-aware optimizer uses the data types of the optimizer's states.
  if (!turns_on)
    writer.remove({"main_grads_dtype", "exp_avg_dtype", "exp_avg_sq_dtype", "main_params_dtype"});
}

// Throws an Error if a model has layers of a type that no launch of Megatron-LM describes.
void check_layers(const config::Model& model) {
  struct Missing {
    char symbol;
    std::string_view reason;
  };
  namespace symbols = config::layer_symbols;
  for (const auto& [symbol, reason] :
       {Missing{symbols::parallel, "Megatron-LM has no layers of attention beside Mamba"},
        Missing{symbols::short_convolution, "Megatron-LM has no short convolutions"},
        Missing{symbols::indexed,
                "arguments of sparse attention in some of the layers are not "
                "written for Megatron-LM"},
        Missing{symbols::window, "Megatron-LM has no compressed attention"},
        Missing{symbols::compressed, "Megatron-LM has no compressed attention"},
        Missing{symbols::heavily_compressed, "Megatron-LM has no compressed attention"}})
    if (model.has_layers(symbol))
      throw config::Error(fmt::format("{} (layers of type {} in model.pattern)", reason, symbol));
}

// Reports the parts of a model that no argument of Megatron-LM describes, or none that is written.
void report_unwritable(SettingsWriter& writer, const config::Model& model) {
  const auto cannot = [&](bool is_there, std::string_view key, std::string_view reason) {
    if (is_there) writer.cannot(key, std::string(reason));
  };
  cannot(model.has_layers(config::layer_symbols::sliding), "model.pattern",
         "Megatron-LM's patterns have no symbol for attention with a sliding window (S)");
  cannot(model.sliding.has_value(), "model.sliding",
         "Megatron-LM's layers have the same heads with and without a window");
  cannot(model.value_size() != model.head_dim && !model.latent, "model.value_head_dim",
         "Megatron-LM's values have the size of keys");
  cannot(model.keys_as_values, "model.keys_as_values", "Megatron-LM computes values of their own");
  cannot(model.indexer.has_value(), "model.indexer",
         "the arguments of sparse attention (--dsa-indexer-*) are not written");
  cannot(model.residual_streams > 1, "model.residual_streams",
         "the arguments of hyper-connections (--mhc-*) are not written");
  cannot(model.mamba && model.mamba->step_rank > 0, "model.mamba.step_rank",
         "Megatron-LM has Mamba-2 alone");
  cannot(model.linear_attention && model.linear_attention->decay_rank > 0,
         "model.linear_attention.decay_rank", "Megatron-LM's decays are those of a head");
  cannot(model.linear_attention && model.linear_attention->gate_rank > 0,
         "model.linear_attention.gate_rank", "Megatron-LM's gates have one full matrix");
}

}  // namespace

void write_model(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Model& model = scenario.model->value;
  check_layers(model);
  if (model.pattern.empty()) {
    writer.add("num_layers", model.layers);
  } else {
    std::string pattern = pattern_of(writer);
    // Megatron-LM asks for heads even of a model without attention.
    if (model.heads == 0) writer.add("num_attention_heads", scenario.parallel.tp.value);
    const std::string first = fmt::format("{}", fmt::join(model.pattern, "")).substr(0, 2);
    for (std::uint32_t i = 0; i < model.mtp_layers; ++i) pattern += "/" + first;
    writer.add("hybrid_layer_pattern", pattern);
  }
  report_unwritable(writer, model);
  const bool dense = !model.experts || model.experts->first_dense > 0 || model.experts->every > 1 ||
                     !model.pattern.empty();
  writer.add("ffn_hidden_size", dense ? model.ffn : model.experts->ffn);
  if (model.kv_heads != model.heads && !model.latent) {
    if (writer.writes_arguments()) writer.add("group_query_attention");
    writer.add("num_query_groups", model.kv_heads);
  }
  const std::uint32_t sequence = scenario.training.sequence.value_or(model.sequence);
  writer.add("seq_length", sequence);
  if (writer.writes_arguments()) writer.add("max_position_embeddings", sequence);
  if (model.gated) writer.add("swiglu");
  if (model.qk_layernorm) writer.add("qk_layernorm");
  if (model.biases == config::Model::Biases::qkv) {
    writer.remove({"disable_bias_linear"});
    writer.add("disable_bias_linear");
    writer.add("add_qkv_bias");
  }
  if (model.dropout == 0) {
    // Dropout is written as 0, the default of scenarios; Megatron-LM's default is 0.1.
    if (!writer.has("hidden_dropout")) writer.add("hidden_dropout", 0);
    writer.add("attention_dropout", 0);
  }
  writer.add("vocab_size", model.vocabulary);
  if (model.mtp_layers > 0 && model.pattern.empty()) writer.add("mtp_num_layers", model.mtp_layers);
  if (model.sliding_window > 0) {
    writer.add("window_size", fmt::format("({},0)", model.sliding_window - 1));
    if (model.full_attention_every > 0)
      writer.add("window_attn_skip_freq", model.full_attention_every);
  }
  if (model.attention_sinks) writer.add("softmax_type", "learnable");
  if (model.mamba) {
    writer.add("mamba_num_heads", model.mamba->heads);
    writer.add("mamba_head_dim", model.mamba->head_dim);
    writer.add("mamba_num_groups", model.mamba->groups);
    writer.add("mamba_state_dim", model.mamba->state);
  }
  if (model.linear_attention) {
    writer.add("linear_num_key_heads", model.linear_attention->key_heads);
    writer.add("linear_num_value_heads", model.linear_attention->value_heads);
    writer.add("linear_key_head_dim", model.linear_attention->key_head_dim);
    writer.add("linear_value_head_dim", model.linear_attention->value_head_dim);
    writer.add("linear_conv_kernel_dim", model.linear_attention->conv);
  }
}

void write_latent(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  if (!scenario.model->value.latent) return;
  const config::Model::Latent& latent = *scenario.model->value.latent;
  writer.add("multi_latent_attention");
  if (latent.query_rank > 0) writer.add("q_lora_rank", latent.query_rank);
  writer.add("kv_lora_rank", latent.kv_rank);
  writer.add("qk_head_dim", latent.nope_head_dim);
  writer.add("qk_pos_emb_head_dim", latent.rope_head_dim);
  writer.add("v_head_dim", latent.value_head_dim);
}

void write_experts(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Model& model = scenario.model->value;
  if (!model.experts) return;
  const config::Model::Experts& experts = *model.experts;
  writer.add("moe_ffn_hidden_size", experts.ffn);
  if (experts.shared > 0)
    writer.add("moe_shared_expert_intermediate_size", experts.shared * experts.shared_ffn);
  if (experts.first_dense > 0 || experts.every > 1) {
    std::string layers;
    for (std::uint32_t i = 0; i < model.layers; ++i) {
      const bool has =
          i >= experts.first_dense && (i - experts.first_dense + 1) % experts.every == 0;
      layers += fmt::format("{}{}", layers.empty() ? "" : ",", has ? 1 : 0);
    }
    if (experts.every == 1)
      layers =
          fmt::format("[0]*{}+[1]*{}", experts.first_dense, model.layers - experts.first_dense);
    else
      layers = "[" + layers + "]";
    writer.add("moe_layer_freq", "(" + layers + ")");
  }
  const config::ExpertTraining& training = scenario.training.experts;
  if (experts.capacity_factor) {
    writer.add("moe_expert_capacity_factor", *experts.capacity_factor);
    writer.add("moe_pad_expert_input_to_capacity");
  } else if (training.drop_above) {
    writer.add("moe_expert_capacity_factor", *training.drop_above);
  }
  if (training.round_robin)
    writer.cannot("training.experts.round_robin",
                  "balances experts by random choices, not in turn");
  if (!training.draws_loads() && training.imbalance == 1)
    writer.add("moe_router_force_load_balancing");
  writer.add("moe_grouped_gemm");
  const bool flex = training.dispatcher == config::Dispatcher::deepep ||
                    training.dispatcher == config::Dispatcher::hybridep;
  const std::string_view name = base::name_of(config::dispatcher_names, training.dispatcher);
  writer.add("moe_token_dispatcher_type", flex ? "flex" : name);
  if (flex) writer.add("moe_flex_dispatcher_backend", name);
  if (flex && training.sms) writer.add(fmt::format("moe_{}_num_sms", name), *training.sms);
  if (training.overlap) writer.add("overlap_moe_expert_parallel_comm");
  if (training.delay_wgrad) writer.add("delay_wgrad_compute");
}

namespace {

// Writes what Megatron-FSDP shards over outer ranks, and how far ahead it gathers weights.
void write_hybrid_fsdp(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Parallel& parallel = scenario.parallel;
  if (parallel.shards_optimizer_over_copies()) writer.add("outer_dp_sharding_strategy", "optim");
  const auto& ahead = parallel.gather_ahead;
  if (parallel.zero < 3 || ahead == scenario.training.stack.gather_ahead) return;
  if (ahead.value_or(1) == 1)
    writer.add("fsdp_double_buffer");
  else
    writer.add("suggested_communication_unit_size", std::uint64_t{2} * *ahead);
}

}  // namespace

void write_parallel(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Parallel& parallel = scenario.parallel;
  // No updated weights are gathered without a distributed optimizer.
  const bool has_whole_optimizer =
      parallel.zero == 0 || (parallel.gtp && !parallel.shards_optimizer_over_copies());
  if (has_whole_optimizer) writer.remove({"overlap_param_gather"});
  if (parallel.sequence && parallel.tp.value > 1) writer.add("sequence_parallel");
  constexpr std::array<std::string_view, 4> strategies{"no_shard", "optim", "optim_grads",
                                                       "optim_grads_params"};
  if (parallel.zero == 0 && !writer.writes_arguments())
    writer.add("use_distributed_optimizer", "false");
  if (parallel.gtp) {
    if (parallel.shards_optimizer_over_copies())
      writer.add("use_distributed_optimizer");
    else if (!writer.writes_arguments())
      writer.add("use_distributed_optimizer", "false");
    writer.add("tensor_parallel_num_weight_shards", parallel.tp.value * parallel.gtp->value);
    if (parallel.expert_gtp->value > 1)
      writer.add("expert_tensor_parallel_num_weight_shards",
                 parallel.expert_tp() * parallel.expert_gtp->value);
  } else if (parallel.zero == 1) {
    writer.add("use_distributed_optimizer");
  } else if (parallel.zero > 1) {
    writer.add("use_megatron_fsdp");
    writer.add("data_parallel_sharding_strategy", strategies.at(parallel.zero));
    if (scenario.devices.value > 1)
      writer.cannot("", "Megatron-FSDP with pipeline parallelism is untested here");
    write_hybrid_fsdp(writer);
  }
  if (!parallel.gtp && parallel.zero > 0 && parallel.replicates() > 1)
    writer.add("num_distributed_optimizer_instances", parallel.replicates());
  using config::Axis;
  constexpr std::array usual{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  constexpr std::array pipeline_first{Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp};
  if (parallel.order == pipeline_first)
    writer.add("use_tp_pp_dp_mapping");
  else if (parallel.order != usual)
    writer.cannot("parallel.order",
                  "Megatron-LM orders ranks as tp-cp-ep-dp-pp, or with --use-tp-pp-dp-mapping as "
                  "tp-cp-ep-pp-dp");
  if (!parallel.cp_sizes.empty()) {
    Setting sizes{.name = "hierarchical_context_parallel_sizes"};
    for (const auto& size : parallel.cp_sizes)
      sizes.values.push_back(fmt::format("{}", size.value));
    writer.settings.push_back(std::move(sizes));
  }
  if (parallel.cuts_vocabulary())
    writer.cannot("parallel.vocab_parallel",
                  "only a fork cuts the vocabulary over the pipeline "
                  "(--enable-vocab-parallel of sail-sg/VocabularyParallelism)");
}

void write_schedule(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const std::uint32_t pp = scenario.devices.value;
  if (spec.name == "interleaved-1f1b") {
    if (scenario.partition.rule != config::Partition::Rule::layout && !needs_layout(writer))
      writer.add("num_virtual_stages_per_pipeline_rank", chunk_count(scenario));
    if (const auto& group = spec[&schedules::Parameters::group_size])
      writer.add("microbatch_group_size_per_virtual_pipeline_stage", group->value);
    if (scenario.p2p == config::P2p::blocking) writer.add("no_overlap_p2p_communication");
    if (scenario.p2p == config::P2p::eager) writer.add("overlap_p2p_communication_warmup_flush");
    if (scenario.p2p == config::P2p::rendezvous)
      writer.cannot("p2p", "Megatron-LM posts receives before it needs the tensors (p2p: eager)");
  } else if (spec.name != "1f1b" && pp > 1) {
    writer.cannot("schedule.name",
                  fmt::format("Megatron-LM has no schedule {}; it runs 1f1b, or interleaved-1f1b",
                              spec.name));
  } else if (pp > 1 && scenario.p2p != config::P2p::blocking) {
    writer.cannot("p2p", "Megatron-LM's 1f1b does not compute during a transfer (p2p: blocking)");
  }
}

void write_partition(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  using Rule = config::Partition::Rule;
  const config::Partition& partition = scenario.partition;
  if (stage_count(scenario) == 1) return;
  if (partition.rule == Rule::layout) {
    writer.add("pipeline_model_parallel_layout", partition.text);
  } else if (partition.rule != Rule::ends && layers_of_stages(writer).empty()) {
    writer.cannot("partition",
                  fmt::format("Megatron-LM has no rule like partition {}; write the layers of the "
                              "stages as a list, which 'pipewright layout' prints",
                              config::to_string(partition)));
  } else if (needs_layout(writer) && scenario.model->value.pattern.empty()) {
    write_layout(writer);
  } else if (partition.rule == Rule::ends_less) {
    for (const auto& [flag, is_on] :
         {std::pair{"account_for_embedding_in_pipeline_split", partition.embedding_counts},
          {"account_for_loss_in_pipeline_split", partition.loss_counts}})
      if (is_on && !writer.has(flag)) writer.add(flag);
  }
}

void write_training(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Training& training = scenario.training;
  writer.add("global_batch_size", std::uint64_t{scenario.microbatches.value} *
                                      scenario.parallel.dp.value * training.microbatch_size);
  if (!writer.has("micro_batch_size")) writer.add("micro_batch_size", training.microbatch_size);
  write_precision(writer);
  write_recompute(writer);
  write_attention_backend(writer);
  write_cuda_graphs(writer);
  write_optimizer(writer);
  write_bucket(writer);
}

Written write(const Scenario& scenario, const config::LaunchPlan& plan, bool arguments) {
  SettingsWriter writer(scenario, plan, arguments);
  write_flags(flags(), spelled_out(scenario), writer);
  return {std::move(writer.settings), std::move(writer.reasons)};
}

Unexpressed unexpressed(const LaunchInput& input, const Written& written, Dialect dialect) {
  const Scenario& scenario = input.scenario;
  std::vector<Difference> reasons = written.reasons;
  Request request{.dialect = dialect,
                  .name = scenario.model->value.name.empty() ? "job" : scenario.model->value.name,
                  .settings = written.settings,
                  .gpus = gpus_of(scenario),
                  .gpus_from = "the scenario"};
  for (Setting& setting : request.settings) setting.written = words_of(setting);
  // A script sets the threads of the CPU by a variable (script.cpp).
  if (const auto& offload = scenario.training.optimizer.offload;
      offload && offload->threads && dialect == Dialect::megatron)
    request.settings.push_back(
        {.name = "omp_num_threads", .values = {fmt::format("{}", *offload->threads)}});
  std::vector<Difference> differences;
  std::string refused;
  try {
    Job job = read(request);
    if (dialect == Dialect::megatron) check_layout(job.tree);
    for (const Note& note : job.not_modelled)
      reasons.push_back({"", fmt::format("{}: {}", note.text, note.why)});
    differences = jobs::differences(input, std::move(job));
  } catch (const config::Error& refusal) {
    refused = refusal.what();
  }
  return {stated_differences(std::move(reasons), differences), refusal_of(input, refused)};
}

}  // namespace pipewright::jobs::megatron
