#include "sim/config/huggingface/huggingface.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/huggingface/blocks.hpp"
#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/family.hpp"
#include "sim/config/huggingface/layout.hpp"
#include "sim/config/huggingface/missing.hpp"
#include "sim/config/huggingface/recurrences.hpp"
#include "sim/config/huggingface/shape.hpp"
#include "sim/config/huggingface/unread.hpp"
#include "sim/config/huggingface/vision.hpp"

namespace pipewright::config::huggingface {
namespace {

// Keys under which the config of a vision model holds that of its language model.
constexpr std::array<std::string_view, 3> text_parts{"text_config", "llm_config",
                                                     "language_config"};
constexpr std::array<std::string_view, 3> omitted_parts{"audio_config", "projector_config",
                                                        "sound_config"};

Number number_or(Config& config, Names names, std::uint32_t default_value) {
  return default_value > 0 ? config.number(names, default_value) : config.required_number(names);
}

void add_indexer(Config& config, Shape& shape) {
  shape.set("indexer.heads", config.required_number({"index_n_heads"}));
  shape.set("indexer.head_dim", config.number({"index_head_dim"}));
  shape.set("indexer.top_k", config.number({"index_topk"}));
}

// Adds compressed attention, whose heads share one key and value.
void add_compressed(Config& config, Shape& shape) {
  shape.set("head_dim", config.required_number({"head_dim"}));
  shape.set("compressed.query_rank", config.required_number({"q_lora_rank"}));
  shape.set("compressed.output_rank", config.required_number({"o_lora_rank"}));
  shape.set("compressed.output_groups", config.number({"o_groups"}));
  config.find({"qk_rope_head_dim", "num_key_value_heads"});
  add_indexer(config, shape);
}

void add_latent(Config& config, const Family& family, Shape& shape) {
  shape.set("latent.query_rank", config.number({"q_lora_rank"}));
  shape.set("latent.kv_rank", config.required_number({"kv_lora_rank"}));
  shape.set("latent.nope_head_dim", config.required_number({"qk_nope_head_dim"}));
  shape.set("latent.rope_head_dim", config.required_number({"qk_rope_head_dim"}));
  shape.set("latent.value_head_dim", config.required_number({"v_head_dim"}));
  // Marks these keys as read: their values follow from the sizes of latent attention.
  config.find({"num_key_value_heads", "head_dim", "qk_head_dim"});
  if (config.flag({"mla_use_output_gate"}, false))
    shape.set("output_gate", "true", config.origin());
  if (family.indexer) add_indexer(config, shape);
}

// Adds a note on attention to chosen blocks of keys, which frameworks train as attention to all
// keys (docs/models/minimax/minimax-m3.md of Megatron-Bridge).
void note_blocks(Config& config, Shape& shape) {
  if (!config.find({"sparse_attention_config"})) return;
  Config inner = config.part("sparse_attention_config");
  const Number blocks = inner.required_number({"sparse_topk_blocks"});
  const Number size = inner.required_number({"sparse_block_size"});
  const Number heads = inner.required_number({"sparse_num_index_heads"});
  const Number head_dim = inner.required_number({"sparse_index_dim"});
  const Number hidden = config.required_number({"hidden_size"});
  const auto layers = inner.list({"sparse_attention_freq"}, 1);
  const auto sparse = layers ? std::ranges::count(layers->value, "1") : 0;
  const double parameters =
      static_cast<double>(sparse) * hidden.value * (heads.value + 1.0) * head_dim.value;
  shape.note(
      fmt::format("sparse_attention_config: attention to all keys, as Megatron-Bridge trains it; "
                  "sequences above {} tokens ({} blocks of {} keys) would take less time with the "
                  "choice of an indexer, whose {:.3g} million parameters are left out",
                  std::uint64_t{blocks.value} * size.value, blocks.value, size.value,
                  parameters / 1e6),
      inner.origin());
}

// Adds a note on attention residuals, which take the results of blocks of layers into account.
void note_residuals(Config& config, Shape& shape) {
  const auto block = config.number({"attn_res_block_size"});
  const auto layers = config.number({"num_hidden_layers"});
  if (!block || block->value == 0 || !layers) return;
  shape.note(fmt::format("attn_res_block_size: attention residuals are left out, which read up to "
                         "{} hidden states before each mixer and each MLP, one of each block of {} "
                         "layers",
                         (layers->value + block->value - 1) / block->value, block->value),
             block->origin);
}

// Checks that attention is causal. The value "vision" concerns tokens of images alone.
void check_causal(Config& config) {
  const Config::Match match = config.find({"use_bidirectional_attention"});
  if (match && match.value->text == "all")
    throw Error(match.value->origin,
                "use_bidirectional_attention is all: attention without a causal mask is not "
                "modelled")
        .allow("vision, false or null");
}

// Adds the heads of layers with a sliding window where they differ from those of other layers: in a
// map of their own (Step 3.5), as keys of their own (MiMo-V2), or as the usual keys, with keys of
// their own for the layers without a window (Gemma 4).
void add_window_heads(Config& config, Shape& shape) {
  const auto set_heads = [&](Config& source, Names heads, Names kv_heads, Names head_dim,
                             Names value_head_dim) {
    shape.set("sliding.heads", source.number(heads));
    shape.set("sliding.kv_heads", source.number(kv_heads));
    shape.set("sliding.head_dim", source.number(head_dim));
    shape.set("sliding.value_head_dim", source.number(value_head_dim));
  };
  if (config.find({"attention_other_setting"})) {
    Config inner = config.part("attention_other_setting");
    set_heads(inner, {"num_attention_heads"}, {"num_attention_groups"}, {"head_dim"},
              {"v_head_dim"});
    inner.find({"attention_type"});
    check_unread(inner);
  } else if (const auto global = config.number({"global_head_dim"})) {
    set_heads(config, {"num_attention_heads"}, {"num_key_value_heads"}, {"head_dim"}, {"head_dim"});
    shape.set("head_dim", global);
    if (!config.flag({"attention_k_eq_v"}, false)) return;
    shape.set("kv_heads", config.number({"num_global_key_value_heads"}));
    shape.set("keys_as_values", "true", global->origin);
  } else {
    set_heads(config, {"swa_num_attention_heads"}, {"swa_num_key_value_heads"}, {"swa_head_dim"},
              {"swa_v_head_dim"});
    config.find({"attention_chunk_size"});  // the window once more, as MiMo-V2 names it
  }
}

void add_attention(Config& config, const Family& family, const Layout& layout, Shape& shape) {
  check_causal(config);
  const Number heads = number_or(config, {"num_attention_heads", "n_head"}, family.heads);
  shape.set("heads", heads);
  if (family.layers == Family::Layers::compressed) return add_compressed(config, shape);
  if (config.find({"kv_lora_rank"})) return add_latent(config, family, shape);
  if (family.layers != Family::Layers::blocks)
    shape.set("kv_heads", config.number({"num_key_value_heads", "num_attention_groups"},
                                        family.kv_heads > 0 ? family.kv_heads : heads.value));
  auto size = config.number({"head_dim", "attention_head_dim"});
  if (!size && family.head_dim > 0) size = Number{family.head_dim, config.origin()};
  shape.set("head_dim", size);
  shape.set("value_head_dim", config.number({"v_head_dim"}));
  if (layout.windows && family.window_has_heads) add_window_heads(config, shape);
  if (config.flag({"use_qk_norm"}, family.qk_norm))
    shape.set("qk_layernorm", "true", config.origin());
  if (config.flag({"attn_output_gate"}, family.output_gate))
    shape.set("output_gate", "true", config.origin());
  if (family.attention_sinks) shape.set("attention_sinks", "true", config.origin());
}

void add_experts(Config& config, const Family& family, Shape& shape) {
  shape.set("experts.count", config.required_number({"num_local_experts", "num_experts",
                                                     "n_routed_experts", "moe_num_experts"}));
  shape.set("experts.top_k", config.required_number({"num_experts_per_tok", "experts_per_token",
                                                     "num_experts_per_token", "moe_topk",
                                                     "moe_top_k", "moe_k", "top_k_experts"}));
  const bool by_ffn = family.expert_is_ffn && !config.find({"moe_intermediate_size"});
  const Number ffn =
      config.required_number({by_ffn ? "intermediate_size" : "moe_intermediate_size"});
  shape.set("experts.ffn", ffn);
  shape.set("experts.latent", config.number({"moe_latent_size", "routed_expert_hidden_size"}));
  if (const auto groups = config.number({"n_group", "num_expert_group"});
      groups && groups->value > 1) {
    shape.set("experts.groups", groups);
    shape.set("experts.top_groups", config.number({"topk_group"}));
  } else {
    config.find({"topk_group"});
  }
  // config.json gives either the number of shared experts, or the size of a single one.
  auto shared = config.number(
      {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"});
  auto size = config.number({"shared_expert_intermediate_size", "shared_intermediate_size",
                             "moe_shared_expert_intermediate_size", "share_expert_dim"});
  if (!shared && family.shared_expert) shared = Number{1, ffn.origin};
  if (!config.flag({"use_mixed_mlp_moe"}, true)) shared.reset();  // of Hunyuan
  if (family.mlp_is_shared && config.flag({"enable_moe_block"}, false))
    size = config.required_number({"intermediate_size"});
  if (size && size->value > 0) {
    shape.set("experts.shared", 1, size->origin);
    shape.set("experts.shared_ffn", size);
  } else if (shared && shared->value > 0) {
    shape.set("experts.shared", shared);
  }
}

// Marks keys of experts as read, since configs of models without experts may have them.
void skip_experts(Config& config) {
  config.find({"moe_intermediate_size", "num_experts_per_tok", "n_shared_experts", "n_group",
               "topk_group", "shared_expert_intermediate_size", "decoder_sparse_step",
               "moe_layer_freq", "first_k_dense_replace", "mlp_only_layers", "expert_layer_period",
               "expert_layer_offset"});
}

// Adds the hidden size of LFM2's MLP: two thirds of the number in the config, times a factor, and
// rounded up to a multiple (Lfm2MLP in modeling_lfm2.py).
void add_adjusted_ffn(Config& config, Shape& shape) {
  const Number ffn = config.required_number({"block_ff_dim", "intermediate_size"});
  config.find({"intermediate_size", "block_dim", "block_use_swiglu", "num_heads"});
  const std::uint64_t multiple = std::max(1U, config.number({"block_multiple_of"}, 256).value);
  const Config::Match factor = config.find({"block_ffn_dim_multiplier"});
  const double scale =
      factor ? read_positive_number({*factor.value, std::string(factor.key)}, "a factor") : 1;
  if (!config.flag({"block_auto_adjust_ff_dim"}, true)) {
    shape.set("ffn", ffn);
    return;
  }
  constexpr double largest = 1U << 31U;
  const std::uint64_t two_thirds = 2 * std::uint64_t{ffn.value} / 3;
  const auto scaled =
      static_cast<std::uint64_t>(std::min(largest, scale * static_cast<double>(two_thirds)));
  const std::uint64_t adjusted = (scaled + multiple - 1) / multiple * multiple;
  shape.set("ffn", std::to_string(adjusted), ffn.origin);
}

// Adds the type and hidden size of the MLP in dense layers.
void add_ffn(Config& config, const Family& family, const Layout& layout, Shape& shape) {
  shape.set("mlp", family.gated ? "swiglu" : "gelu", config.origin());
  if (family.layers == Family::Layers::blocks) return;
  if (family.type == "llama4") {
    shape.set("ffn", config.number({"intermediate_size_mlp"}));
    return;
  }
  if (family.layers == Family::Layers::mixed && !layout.experts &&
      config.find({"shared_intermediate_size"})) {
    shape.set("ffn", config.number({"shared_intermediate_size"}));
    config.find({"intermediate_size"});
    return;
  }
  if (family.type == "lfm2") return add_adjusted_ffn(config, shape);
  const auto ffn = config.number({"dense_intermediate_size", "intermediate_size", "n_inner"});
  if (!layout.mlps) return;
  if (family.gated && !ffn) config.required_number({"intermediate_size"});
  shape.set("ffn", ffn);
}

void add_biases(Config& config, const Family& family, Shape& shape) {
  const auto attention = config.flag({"attention_bias"});
  const auto mlp = config.flag({"mlp_bias"});
  const auto use_bias = config.flag({"use_bias"});
  const bool qkv_bias = config.flag({"use_qkv_bias"}, false);
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
  if (biases == "false" && qkv_bias) biases = "qkv";
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
  if (const auto tied =
          config.flag({"tie_word_embeddings", "tie_embedding_weights", "tie_embedding"}))
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
    shape.set("sequence", length);
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
  shape.set("mtp_layers", modules);
  const bool is_single = modules->value == 1;
  shape.note(
      fmt::format("mtp_layers: the parameters include the {} of multi-token prediction, which "
                  "most published numbers leave out; model.mtp_layers 0 does so too",
                  is_single ? "module" : "modules"),
      modules->origin);
}

// Adds hyper-connections and what is not exact of the routing of DeepSeek-V4.
void add_streams(Config& config, Shape& shape) {
  shape.set("residual_streams", config.number({"hc_mult"}));
  if (const auto hashed = config.number({"num_hash_layers"}); hashed && hashed->value > 0)
    shape.note(
        fmt::format("num_hash_layers: the first {} layers choose experts by a table of tokens, "
                    "which takes the time of the other layers' choice",
                    hashed->value),
        hashed->origin);
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
  if (family.indexer) config.find({"index_topk"});
  const bool is_compressed = family.layers == Family::Layers::compressed;
  if (is_compressed) config.find({"compress_ratios", "o_lora_rank", "hc_mult", "num_hash_layers"});
  if (family.layers == Family::Layers::kimi)
    config.find({"mla_use_output_gate", "attn_res_block_size"});
  if (family.sparse_is_full) config.find({"sparse_attention_config"});
  if (family.layers == Family::Layers::blocks) config.find({"block_configs"});
  check_missing(config);
  Shape shape(whole.origin);
  add_name(config, shape);
  const Number hidden = config.required_number({"hidden_size", "n_embd"});
  shape.set("hidden", hidden);
  shape.set("vocabulary", number_or(config, {"vocab_size"}, family.vocabulary));
  const bool is_blocks = family.layers == Family::Layers::blocks;
  const Layout layout = is_blocks ? add_blocks(config, shape) : add_layout(config, family, shape);
  if (layout.attention) add_attention(config, family, layout, shape);
  add_recurrences(config, family, layout, shape);
  if (layout.experts)
    add_experts(config, family, shape);
  else
    skip_experts(config);
  add_ffn(config, family, layout, shape);
  shape.set("norm", family.layernorm ? "layernorm" : "rmsnorm", config.origin());
  if (family.post_norms) shape.set("post_norms", "true", config.origin());
  if (is_compressed) add_streams(config, shape);
  if (family.sparse_is_full) note_blocks(config, shape);
  if (family.layers == Family::Layers::kimi) note_residuals(config, shape);
  add_biases(config, family, shape);
  add_dropout(config, shape);
  shape.set("tied_embeddings", is_tied(config, family) ? "true" : "false", config.origin());
  add_sequence(config, family, shape);
  add_mtp(config, shape);
  add_vision(config, hidden.value, shape);
  add_notes(config, shape);
  check_unread(config);
  if (const auto unknown = unknown_keys(config); !unknown.empty())
    shape.note(fmt::format("{}: not known in config.json, and taken to change neither time nor "
                           "memory",
                           fmt::join(unknown, ", ")),
               whole.origin);
  return std::move(shape).take();
}

}  // namespace pipewright::config::huggingface
