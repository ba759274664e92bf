#include "sim/config/huggingface/huggingface.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/family.hpp"
#include "sim/config/huggingface/layout.hpp"
#include "sim/config/huggingface/shape.hpp"
#include "sim/config/huggingface/unread.hpp"

namespace pipewright::config::huggingface {
namespace {

// Keys under which the config of a vision model holds that of its language model.
constexpr std::array<std::string_view, 3> text_parts{"text_config", "llm_config",
                                                     "language_config"};
constexpr std::array<std::string_view, 6> omitted_parts{"vision_config",    "audio_config",
                                                        "vit_config",       "vision_tower_config",
                                                        "projector_config", "sound_config"};

void set(Shape& shape, std::string_view path, const std::optional<Number>& number) {
  if (number) shape.set(path, number->value, number->origin);
}

Number number_or(Config& config, Names names, std::uint32_t default_value) {
  return default_value > 0 ? config.number(names, default_value) : config.required_number(names);
}

void add_latent(Config& config, Shape& shape) {
  set(shape, "latent.query_rank", config.number({"q_lora_rank"}));
  set(shape, "latent.kv_rank", config.required_number({"kv_lora_rank"}));
  set(shape, "latent.nope_head_dim", config.required_number({"qk_nope_head_dim"}));
  set(shape, "latent.rope_head_dim", config.required_number({"qk_rope_head_dim"}));
  set(shape, "latent.value_head_dim", config.required_number({"v_head_dim"}));
  // Marks these keys as read: their values follow from the sizes of latent attention.
  config.find({"num_key_value_heads", "head_dim", "qk_head_dim"});
}

void add_attention(Config& config, const Family& family, Shape& shape) {
  const Number heads = number_or(config, {"num_attention_heads", "n_head"}, family.heads);
  set(shape, "heads", heads);
  if (config.find({"kv_lora_rank"})) return add_latent(config, shape);
  set(shape, "kv_heads",
      config.number({"num_key_value_heads"}, family.kv_heads > 0 ? family.kv_heads : heads.value));
  auto size = config.number({"head_dim", "attention_head_dim"});
  if (!size && family.head_dim > 0) size = Number{family.head_dim, config.origin()};
  set(shape, "head_dim", size);
  if (config.flag({"use_qk_norm"}, family.qk_norm))
    shape.set("qk_layernorm", "true", config.origin());
  if (config.flag({"attn_output_gate"}, family.output_gate))
    shape.set("output_gate", "true", config.origin());
  if (family.attention_sinks) shape.set("attention_sinks", "true", config.origin());
}

void add_recurrences(Config& config, const Layout& layout, Shape& shape) {
  if (layout.linear) {
    set(shape, "linear_attention.key_heads", config.required_number({"linear_num_key_heads"}));
    set(shape, "linear_attention.value_heads", config.required_number({"linear_num_value_heads"}));
    set(shape, "linear_attention.key_head_dim", config.number({"linear_key_head_dim"}));
    set(shape, "linear_attention.value_head_dim", config.number({"linear_value_head_dim"}));
    set(shape, "linear_attention.conv", config.number({"linear_conv_kernel_dim"}));
  }
  if (!layout.mamba) return;
  set(shape, "mamba.heads", config.required_number({"mamba_num_heads", "num_heads"}));
  set(shape, "mamba.head_dim",
      layout.attention ? config.number({"mamba_head_dim"})
                       : config.number({"mamba_head_dim", "head_dim"}));
  set(shape, "mamba.groups", config.required_number({"n_groups"}));
  set(shape, "mamba.state", config.number({"ssm_state_size", "state_size"}));
  set(shape, "mamba.conv", config.number({"conv_kernel"}));
}

void add_experts(Config& config, const Family& family, Shape& shape) {
  set(shape, "experts.count",
      config.required_number(
          {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}));
  set(shape, "experts.top_k",
      config.required_number(
          {"num_experts_per_tok", "experts_per_token", "num_experts_per_token"}));
  const bool by_ffn = family.expert_is_ffn && !config.find({"moe_intermediate_size"});
  const Number ffn =
      config.required_number({by_ffn ? "intermediate_size" : "moe_intermediate_size"});
  set(shape, "experts.ffn", ffn);
  set(shape, "experts.latent", config.number({"moe_latent_size"}));
  if (const auto groups = config.number({"n_group"}); groups && groups->value > 1) {
    set(shape, "experts.groups", groups);
    set(shape, "experts.top_groups", config.number({"topk_group"}));
  } else {
    config.find({"topk_group"});
  }
  // config.json gives either the number of shared experts, or the size of a single one.
  auto shared = config.number({"n_shared_experts", "num_shared_experts"});
  const auto size =
      config.number({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"});
  if (family.type == "llama4") shared = Number{1, ffn.origin};
  if (size && size->value > 0) {
    shape.set("experts.shared", 1, size->origin);
    set(shape, "experts.shared_ffn", size);
  } else if (shared && shared->value > 0) {
    set(shape, "experts.shared", shared);
  }
}

// Marks keys of experts as read, since configs of models without experts may have them.
void skip_experts(Config& config) {
  config.find({"moe_intermediate_size", "num_experts_per_tok", "n_shared_experts", "n_group",
               "topk_group", "shared_expert_intermediate_size", "decoder_sparse_step",
               "moe_layer_freq", "first_k_dense_replace", "mlp_only_layers"});
}

// Adds the type and hidden size of the MLP in dense layers.
void add_ffn(Config& config, const Family& family, const Layout& layout, Shape& shape) {
  shape.set("mlp", family.gated ? "swiglu" : "gelu", config.origin());
  if (family.type == "llama4") {
    set(shape, "ffn", config.number({"intermediate_size_mlp"}));
    return;
  }
  const auto ffn = config.number({"intermediate_size", "n_inner"});
  if (!layout.mlps) return;
  if (family.gated && !ffn) config.required_number({"intermediate_size"});
  set(shape, "ffn", ffn);
}

void add_biases(Config& config, const Family& family, Shape& shape) {
  const auto attention = config.flag({"attention_bias"});
  const auto mlp = config.flag({"mlp_bias"});
  const auto use_bias = config.flag({"use_bias"});
  std::string_view biases = family.biases;
  Origin origin = config.origin();
  if (biases == "false" && attention && attention->value) {
    biases = mlp && mlp->value ? "true" : family.attention_bias;
    origin = attention->origin;
  } else if (mlp && mlp->value && biases != "true") {
    throw Error(mlp->origin, "mlp_bias is true without attention_bias")
        .allow("both, attention_bias alone, or none");
  }
  if (use_bias && use_bias->value && family.layers == Family::Layers::transformer) {
    biases = "true";
    origin = use_bias->origin;
  }
  shape.set("biases", std::string(biases), origin);
}

void add_dropout(Config& config, Shape& shape) {
  for (const std::string_view key :
       {"resid_pdrop", "hidden_dropout", "hidden_dropout_prob", "residual_dropout"}) {
    const Config::Match match = config.find({key});
    if (!match || match.value->kind != Value::Kind::text) continue;
    if (match.value->text.find_first_not_of("0.") == std::string::npos) continue;
    shape.set("dropout", match.value->text, match.value->origin);
    return;
  }
}

// Returns whether input and output embedding are one matrix. The key may be in the text part or at
// the top level of the file.
bool is_tied(Config& config, const Family& family) {
  if (const auto tied = config.flag({"tie_word_embeddings", "tie_embedding_weights"}))
    return tied->value;
  const Value* const outer = find(config.whole(), "tie_word_embeddings");
  return outer == nullptr || outer->kind != Value::Kind::text || outer->text == "null"
             ? family.tied
             : read_flag({*outer, "tie_word_embeddings"});
}

void add_sequence(Config& config, const Family& family, Shape& shape) {
  constexpr std::uint32_t default_sequence = 4096;
  const auto positions = config.number(
      {"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx"});
  if (family.learned_positions) {
    const Number length =
        config.required_number({"max_position_embeddings", "n_positions", "n_ctx"});
    set(shape, "sequence", length);
    shape.set("positions", "learned", length.origin);
    return;
  }
  const std::uint32_t sequence = positions && positions->value > 0
                                     ? std::min(positions->value, default_sequence)
                                     : default_sequence;
  const Origin& origin = positions ? positions->origin : config.origin();
  shape.set("sequence", sequence, origin);
  const std::string limit =
      positions ? fmt::format(", only the limit of its positions ({})", positions->value) : "";
  shape.note(
      fmt::format("sequence: {} is assumed, since config.json has no training sequence length{}; "
                  "set training.sequence",
                  sequence, limit),
      origin);
}

void add_mtp(Config& config, Shape& shape) {
  const auto modules =
      config.number({"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"});
  const bool is_used = config.flag({"use_mtp"}, true);
  if (!modules || modules->value == 0 || !is_used) return;
  set(shape, "mtp_layers", modules);
  const bool is_single = modules->value == 1;
  shape.note(
      fmt::format("mtp_layers: the parameters include the {} of multi-token prediction, which "
                  "most published numbers leave out; model.mtp_layers 0 does so too",
                  is_single ? "module" : "modules"),
      modules->origin);
}

// Adds the model's name without its owner, such as "Llama-3.1-8B" from "meta-llama/Llama-3.1-8B". A
// path on the machine where the file was written is no name.
void add_name(Config& config, Shape& shape) {
  const Config::Match match = config.find({"_name_or_path"});
  if (!match || match.value->kind != Value::Kind::text) return;
  const std::string& name = match.value->text;
  const std::size_t slash = name.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == name.size() ||
      name.find('/', slash + 1) != std::string::npos || name.find('.') == 0)
    return;
  shape.set("name", name.substr(slash + 1), match.value->origin);
}

void add_notes(Config& config, Shape& shape) {
  for (const std::string_view key : omitted_parts)
    if (const Value* const part = find(config.whole(), key);
        part != nullptr && part->kind == Value::Kind::map)
      shape.note(fmt::format("{}: left out, since this is the language model only", key),
                 part->origin);
  for (const Value* const map : {&config.whole(), &config.text()})
    if (const Value* const types = find(*map, "quantization_config");
        types != nullptr && types->kind == Value::Kind::map) {
      shape.note(
          "quantization_config: format of the released weights; training has its own precision",
          types->origin);
      return;
    }
}

const Value& text_of(const Value& config) {
  for (const std::string_view key : text_parts)
    if (const Value* const part = find(config, key);
        part != nullptr && part->kind == Value::Kind::map)
      return *part;
  return config;
}

}  // namespace

bool is_config(const Value& map) {
  return map.kind == Value::Kind::map &&
         (find(map, "model_type") != nullptr || find(map, "architectures") != nullptr);
}

Value model_map(const Value& whole) {
  Config config(whole, text_of(whole));
  const Family& family = family_of(config);
  Shape shape(whole.origin);
  add_name(config, shape);
  set(shape, "hidden", config.required_number({"hidden_size", "n_embd"}));
  set(shape, "vocabulary", number_or(config, {"vocab_size"}, family.vocabulary));
  const Layout layout = add_layout(config, family, shape);
  if (layout.attention) add_attention(config, family, shape);
  add_recurrences(config, layout, shape);
  if (layout.experts)
    add_experts(config, family, shape);
  else
    skip_experts(config);
  add_ffn(config, family, layout, shape);
  shape.set("norm", family.layernorm ? "layernorm" : "rmsnorm", config.origin());
  if (family.post_norms) shape.set("post_norms", "true", config.origin());
  add_biases(config, family, shape);
  add_dropout(config, shape);
  shape.set("tied_embeddings", is_tied(config, family) ? "true" : "false", config.origin());
  add_sequence(config, family, shape);
  add_mtp(config, shape);
  add_notes(config, shape);
  check_unread(config);
  return std::move(shape).take();
}

}  // namespace pipewright::config::huggingface
