#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"

namespace pipewright::jobs::megatron {
namespace {

using config::Scenario;

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

}  // namespace pipewright::jobs::megatron
