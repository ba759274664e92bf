#include "sim/jobs/megatron/write.hpp"

#include <algorithm>
#include <array>
#include <bitset>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/differences.hpp"

namespace pipewright::jobs::megatron {
namespace {

using config::Scenario;

class Writer {
 public:
  Writer(const Scenario& scenario, bool arguments) : scenario_(scenario), arguments_(arguments) {}

  Written all() {
    written_.settings = write_flags(flags(), spelled_out(scenario_), arguments_);
    if (scenario_.parallel.zero == 0)  // nothing is gathered
      std::erase_if(written_.settings,
                    [](const Setting& one) { return one.name == "overlap_param_gather"; });
    model();
    if (scenario_.model->value.latent) latent();
    if (scenario_.model->value.experts) experts();
    parallel();
    schedule();
    partition();
    training();
    return std::move(written_);
  }

 private:
  void add(std::string_view name) { written_.settings.push_back({.name = std::string(name)}); }
  template <class Number>
  void add(std::string_view name, const Number& value) {
    written_.settings.push_back({.name = std::string(name), .values = {fmt::format("{}", value)}});
  }
  void cannot(std::string sentence) { written_.cannot.push_back(std::move(sentence)); }

  void model() {
    const config::Model& model = scenario_.model->value;
    if (model.pattern.empty()) {
      add("num_layers", model.layers);
    } else {
      std::string pattern = fmt::format("{}", fmt::join(model.pattern, ""));
      const std::string first = pattern.substr(0, 2);
      for (std::uint32_t i = 0; i < model.mtp_layers; ++i) pattern += "/" + first;
      add("hybrid_layer_pattern", pattern);
      if (pattern.find('S') != std::string::npos)
        cannot("Megatron-LM's patterns have no symbol for attention with a sliding window (S)");
    }
    const bool dense = !model.experts || model.experts->first_dense > 0 ||
                       model.experts->every > 1 || !model.pattern.empty();
    add("ffn_hidden_size", dense ? model.ffn : model.experts->ffn);
    if (model.kv_heads != model.heads && !model.latent) {
      if (arguments_) add("group_query_attention");
      add("num_query_groups", model.kv_heads);
    }
    const std::uint32_t sequence = scenario_.training.sequence.value_or(model.sequence);
    add("seq_length", sequence);
    if (arguments_) add("max_position_embeddings", sequence);
    if (model.gated) add("swiglu");
    if (model.qk_layernorm) add("qk_layernorm");
    if (model.biases == config::Model::Biases::qkv) {
      std::erase_if(written_.settings,
                    [](const Setting& one) { return one.name == "disable_bias_linear"; });
      add("disable_bias_linear");
      add("add_qkv_bias");
    }
    if (model.dropout == 0) {
      // Ours is none, and the argument's 0.1.
      if (std::ranges::none_of(written_.settings,
                               [](const Setting& one) { return one.name == "hidden_dropout"; }))
        add("hidden_dropout", 0);
      add("attention_dropout", 0);
    }
    add("vocab_size", model.vocabulary);
    if (model.mtp_layers > 0 && model.pattern.empty()) add("mtp_num_layers", model.mtp_layers);
    if (model.sliding_window > 0) {
      add("window_size", fmt::format("({},0)", model.sliding_window - 1));
      if (model.full_attention_every > 0) add("window_attn_skip_freq", model.full_attention_every);
    }
    if (model.mamba) {
      add("mamba_num_heads", model.mamba->heads);
      add("mamba_head_dim", model.mamba->head_dim);
      add("mamba_num_groups", model.mamba->groups);
      add("mamba_state_dim", model.mamba->state);
    }
    if (model.linear_attention) {
      add("linear_num_key_heads", model.linear_attention->key_heads);
      add("linear_num_value_heads", model.linear_attention->value_heads);
      add("linear_key_head_dim", model.linear_attention->key_head_dim);
      add("linear_value_head_dim", model.linear_attention->value_head_dim);
      add("linear_conv_kernel_dim", model.linear_attention->conv);
    }
  }

  void latent() {
    const config::Model::Latent& latent = *scenario_.model->value.latent;
    add("multi_latent_attention");
    if (latent.query_rank > 0) add("q_lora_rank", latent.query_rank);
    add("kv_lora_rank", latent.kv_rank);
    add("qk_head_dim", latent.nope_head_dim);
    add("qk_pos_emb_head_dim", latent.rope_head_dim);
    add("v_head_dim", latent.value_head_dim);
  }

  void experts() {
    const config::Model& model = scenario_.model->value;
    const config::Model::Experts& experts = *model.experts;
    add("moe_ffn_hidden_size", experts.ffn);
    if (experts.shared > 0)
      add("moe_shared_expert_intermediate_size", experts.shared * experts.shared_ffn);
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
      add("moe_layer_freq", "(" + layers + ")");
    }
    add("moe_grouped_gemm");
    const config::ExpertTraining& training = scenario_.training.experts;
    const bool flex = training.dispatcher == config::Dispatcher::deepep ||
                      training.dispatcher == config::Dispatcher::hybridep;
    const std::string_view name =
        config::dispatcher_names.at(static_cast<std::size_t>(training.dispatcher));
    add("moe_token_dispatcher_type", flex ? "flex" : name);
    if (flex) add("moe_flex_dispatcher_backend", name);
    if (flex && training.sms) add(fmt::format("moe_{}_num_sms", name), *training.sms);
    if (training.overlap) add("overlap_moe_expert_parallel_comm");
    if (training.delay_wgrad) add("delay_wgrad_compute");
  }

  void parallel() {
    const config::Parallel& parallel = scenario_.parallel;
    if (parallel.sequence && parallel.tp.value > 1) add("sequence_parallel");
    constexpr std::array<std::string_view, 4> strategies{"no_shard", "optim", "optim_grads",
                                                         "optim_grads_params"};
    if (parallel.zero == 0 && !arguments_) add("use_distributed_optimizer", "false");
    if (parallel.zero == 1) {
      add("use_distributed_optimizer");
    } else if (parallel.zero > 1) {
      add("use_megatron_fsdp");
      add("data_parallel_sharding_strategy", strategies.at(parallel.zero));
      if (scenario_.devices.value > 1)
        cannot("Megatron-FSDP is not tried with pipeline parallelism here");
    }
    if (parallel.zero > 0 && parallel.replicates() > 1)
      add("num_distributed_optimizer_instances", parallel.replicates());
    using config::Axis;
    constexpr std::array usual{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
    constexpr std::array pipeline_first{Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp};
    if (parallel.order == pipeline_first)
      add("use_tp_pp_dp_mapping");
    else if (parallel.order != usual)
      cannot("the order of ranks is tp-cp-ep-dp-pp, or by --use-tp-pp-dp-mapping tp-cp-ep-pp-dp");
    if (!parallel.cp_sizes.empty()) {
      Setting sizes{.name = "hierarchical_context_parallel_sizes"};
      for (const auto& one : parallel.cp_sizes)
        sizes.values.push_back(fmt::format("{}", one.value));
      written_.settings.push_back(std::move(sizes));
    }
    if (parallel.cuts_vocabulary())
      cannot(
          "a vocabulary that is cut over the pipeline is of a fork "
          "(--enable-vocab-parallel of sail-sg/VocabularyParallelism)");
  }

  std::uint64_t chunks() const {
    const config::ScheduleSpec& spec = scenario_.schedules.front();
    const auto& given = spec[&schedules::Parameters::chunks];
    return given ? given->value : 1;
  }

  void schedule() {
    const config::ScheduleSpec& spec = scenario_.schedules.front();
    const std::uint32_t pp = scenario_.devices.value;
    if (spec.name == "interleaved-1f1b") {
      if (scenario_.partition.rule != config::Partition::Rule::layout && !needs_layout())
        add("num_virtual_stages_per_pipeline_rank", chunks());
      if (const auto& group = spec[&schedules::Parameters::group_size])
        add("microbatch_group_size_per_virtual_pipeline_stage", group->value);
      if (scenario_.p2p == config::P2p::blocking) add("no_overlap_p2p_communication");
    } else if (spec.name != "1f1b" && pp > 1) {
      cannot(fmt::format("Megatron-LM has no schedule {}; it runs 1f1b, or interleaved-1f1b",
                         spec.name));
    } else if (pp > 1 && scenario_.p2p != config::P2p::blocking) {
      cannot("Megatron-LM's 1f1b computes nothing while a tensor is on its way (p2p: blocking)");
    }
  }

  std::uint64_t stages() const { return std::uint64_t{scenario_.devices.value} * chunks(); }

  // Layers that are dealt out unevenly have no other flag.
  bool needs_layout() const {
    using Rule = config::Partition::Rule;
    const config::Partition& partition = scenario_.partition;
    const std::uint64_t layers = scenario_.model->value.layers;
    if (stages() == 1) return false;
    if (partition.rule == Rule::listed) return true;
    if (partition.rule == Rule::even) return layers % stages() != 0;
    if (partition.rule == Rule::ends_less)
      return (layers + (partition.embedding_counts ? 1 : 0) + (partition.loss_counts ? 1 : 0)) %
                 stages() !=
             0;
    return false;
  }

  void partition() {
    using Rule = config::Partition::Rule;
    const config::Partition& partition = scenario_.partition;
    if (stages() == 1) return;
    if (partition.rule == Rule::layout) {
      add("pipeline_model_parallel_layout", partition.text);
    } else if (partition.rule == Rule::by_cost) {
      cannot(
          "partition by_cost is no rule of Megatron-LM's; write the layers of the stages as a "
          "list, which 'pipewright run' prints");
    } else if (!scenario_.model->value.pattern.empty()) {
      if (needs_layout()) cannot("of a hybrid pattern, stages end where a | stands in it");
    } else if (needs_layout()) {
      write_layout();
    } else if (partition.rule == Rule::ends_less) {
      for (const auto& [flag, is_on] :
           {std::pair{"account_for_embedding_in_pipeline_split", partition.embedding_counts},
            {"account_for_loss_in_pipeline_split", partition.loss_counts}})
        if (is_on && std::ranges::find(written_.settings, std::string(flag), &Setting::name) ==
                         written_.settings.end())
          add(flag);
    }
  }

  // Layers of each stage as E, t, m, L: as equal as may be, the longer ones first.
  void write_layout() {
    const config::Partition& partition = scenario_.partition;
    std::vector<std::uint32_t> layers = partition.layers;
    const std::uint64_t count = stages();
    if (layers.empty()) {
      const bool first =
          partition.rule == config::Partition::Rule::ends_less && partition.embedding_counts;
      const bool last =
          partition.rule == config::Partition::Rule::ends_less && partition.loss_counts;
      const std::uint64_t all =
          scenario_.model->value.layers + (first ? 1U : 0U) + (last ? 1U : 0U);
      for (std::uint64_t i = 0; i < count; ++i)
        layers.push_back(static_cast<std::uint32_t>(all / count + (i < all % count ? 1 : 0)));
      if (first && layers.front() > 0) --layers.front();
      if (last && layers.back() > 0) --layers.back();
    }
    std::string layout = "E";
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (i > 0) layout += "|";
      if (layers[i] == 1) layout += "t";
      if (layers[i] > 1) layout += fmt::format("t*{}", layers[i]);
    }
    if (const std::uint32_t modules = scenario_.model->value.mtp_layers; modules > 0)
      layout += modules == 1 ? "m" : fmt::format("m*{}", modules);
    add("pipeline_model_parallel_layout", layout + "L");
  }

  void training() {
    const config::Training& training = scenario_.training;
    add("global_batch_size", std::uint64_t{scenario_.microbatches.value} *
                                 scenario_.parallel.dp.value * training.microbatch_size);
    if (std::ranges::find(written_.settings, std::string("micro_batch_size"), &Setting::name) ==
        written_.settings.end())
      add("micro_batch_size", training.microbatch_size);
    precision();
    recompute();
    if (!training.flash_attention) add("attention_backend", "unfused");
    constexpr std::array<std::string_view, 3> graphs{"none", "local", "full_iteration"};
    if (training.cuda_graphs != config::CudaGraphs::none)
      add("cuda_graph_impl", graphs.at(static_cast<std::size_t>(training.cuda_graphs)));
    if (training.offload) {
      if (training.offload->layers)
        add("cpu_offloading_num_layers", *training.offload->layers);
      else
        cannot(
            "activations of all layers are not offloaded by one flag; give "
            "training.offload.num_layers");
    }
    optimizer();
  }

  void precision() {
    const std::string_view name = config::name_of(scenario_.training.precision);
    add(name == "fp16" ? "fp16" : "bf16");
    if (name == "nvfp4") add("fp4_format", "e2m1");
    if (!name.starts_with("fp8") && name != "mxfp8") return;
    add("fp8_format", name == "fp8-block" ? "e4m3" : "hybrid");
    add("fp8_recipe", name == "mxfp8" ? "mxfp8" : name == "fp8-block" ? "blockwise" : "tensorwise");
  }

  void recompute() {
    using Granularity = config::Recompute::Granularity;
    const config::Recompute& recompute = scenario_.training.recompute;
    if (recompute.granularity == Granularity::none) return;
    if (recompute.granularity == Granularity::op || recompute.every > 1)
      return cannot("recomputation by operations, or of one layer in several, is torchtitan's");
    if (recompute.granularity == Granularity::selective) {
      add("recompute_granularity", "selective");
      Setting modules{.name = "recompute_modules"};
      for (std::size_t i = 0; i < config::recompute_modules.size(); ++i)
        if (recompute.modules.test(i)) modules.values.emplace_back(config::recompute_modules.at(i));
      written_.settings.push_back(std::move(modules));
      return;
    }
    add("recompute_granularity", "full");
    add("recompute_method", recompute.block > 0 ? "block" : "uniform");
    add("recompute_num_layers", recompute.block > 0 ? recompute.block : recompute.uniform);
  }

  void optimizer() {
    const config::Optimizer& optimizer = scenario_.training.optimizer;
    const bool half = scenario_.communication.gradient_bytes == 2;
    const bool sums_half = optimizer.main_grads == config::Optimizer::MainGrads::bf16;
    const bool is_fp16 = scenario_.training.precision == config::DataType::fp16;
    if (half && !is_fp16) add("grad_reduce_in_bf16");
    if (is_fp16 && !half) add("accumulate_allreduce_grads_in_fp32");
    const config::Optimizer usual;
    const bool aware = optimizer.exp_avg != usual.exp_avg ||
                       optimizer.exp_avg_sq != usual.exp_avg_sq ||
                       optimizer.main_params != usual.main_params;
    const bool turns_on = aware || (sums_half && !half);
    if (turns_on) add("use_precision_aware_optimizer");
    // Rows that nothing turns on say nothing.
    if (!turns_on)
      std::erase_if(written_.settings, [](const Setting& one) {
        return one.name == "main_grads_dtype" || one.name == "exp_avg_dtype" ||
               one.name == "exp_avg_sq_dtype" || one.name == "main_params_dtype";
      });
  }

  const Scenario& scenario_;
  bool arguments_;
  Written written_;
};

}  // namespace

Written write(const Scenario& scenario, bool arguments) {
  return Writer(scenario, arguments).all();
}

}  // namespace pipewright::jobs::megatron
