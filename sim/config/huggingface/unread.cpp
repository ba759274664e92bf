#include "sim/config/huggingface/unread.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace pipewright::config::huggingface {
namespace {

// Words in the names of config.json keys that affect sizes or types of layers.
constexpr std::array<std::string_view, 43> size_parts{
    "hidden", "size",  "head",   "layer",     "expert",   "window", "dim",     "rank",   "ffn",
    "state",  "inter", "attn",   "attention", "mlp",      "moe",    "block",   "latent", "compress",
    "index",  "conv",  "ssm",    "mamba",     "mtp",      "nextn",  "embd",    "embed",  "width",
    "depth",  "inner", "sparse", "shared",    "chunk",    "vocab",  "group",   "lora",   "swa",
    "loop",   "ratio", "expand", "kv",        "parallel", "hc_",    "residual"};

// Names of keys that contain such a word but affect neither time nor memory, by their start, their
// end or as a whole.
constexpr auto idle_starts = std::to_array<std::string_view>(
    {"_",        "rope_",        "router_",  "moe_router", "output_", "vision_", "image_",
     "video_",   "audio_",       "img_",     "mm_",        "time_",   "swiglu_", "summary_",
     "num_beam", "indexer_rope", "rescale_", "init",       "vit_",    "anyres_"});
constexpr auto idle_ends = std::to_array<std::string_view>(
    {"_token_id",       "_token_index", "_eps",         "_epsilon",
     "_dropout",        "_pdrop",       "_act",         "_activation",
     "_dtype",          "_range",       "_std",         "_scale",
     "_scalar",         "_multiplier",  "_softcapping", "_theta",
     "_coef",           "_coeff",       "_alpha",       "_beta",
     "_implementation", "_limit",       "_factor",      "_kernels",
     "_prob",           "_in_fp32",     "_multipliers", "_xavier_init"});
constexpr auto idle_names = std::to_array<std::string_view>(
    {"add_full_attention_sink_bias",  // sinks: one number per head
     "add_swa_attention_sink_bias",
     "chunk_size",  // of kernels of Mamba-2
     "chunk_size_feed_forward",
     "enable_attention_fp32_softmax",
     "ep_size",
     "hc_sinkhorn_iters",              // in one kernel
     "index_share_for_mtp_iteration",  // of text generation
     "latent_moe_use_norm",            // of one vector per token
     "lm_head_bias",                   // one number per token of the vocabulary
     "mamba_chunk_size",               // of kernels of Mamba-2
     "mamba_conv_bias",                // counted with the convolution
     "mamba_norm_before_gate",
     "mamba_use_mlp",
     "max_window_layers",
     "mlp_type",      // of StarCoder 2, whose family has it
     "moe_capacity",  // 64 times the mean of tokens, so that experts drop none
     "moe_gate",
     "moe_gate_act",
     "moe_norm_min",
     "moe_renormalize",
     "moe_shared_expert_overlap",  // a key of training.experts
     "moe_use_aux_free",
     "norm_expert_weight",
     "num_media_embeds",
     "org_vocab_size",
     "position_embedding_type",
     "position_embedding_xdrope",
     "projectors_bias",  // one number per channel of Mamba
     "mtp_hybrid_override_pattern",
     "mtp_layers_block_type",
     "mtp_transformer_layers",
     "mtp_use_dedicated_embeddings",
     "no_rope_layer_interval",
     "no_rope_layers",
     "original_max_position_embeddings",
     "rotary_dim",
     "scale_attn_weights",
     "sliding_window_size",
     "use_conv_bias",            // counted with the convolution
     "use_expert_bias",          // one number per expert
     "use_grouped_topk",         // n_group and topk_group give the groups
     "use_head_wise_attn_gate",  // one number per head
     "use_moe_router_bias",
     "use_parallel_residual",
     "vocab_size_per_layer_input",  // of hidden_size_per_layer_input
     "expand"});                    // follows from the heads of Mamba-2

// Keys without such a word that are known to affect neither time nor memory, by their start or as a
// whole: those of tokens, of text generation, of initial values, of norms and activation functions,
// of positions, and of the file itself.
constexpr auto quiet_starts = std::to_array<std::string_view>(
    {"_",       "architectures", "auto_map",    "aux_",          "bad_words", "begin_",
     "boa_",    "boi_",          "bos_",        "decoder_",      "do_",       "eoa_",
     "eod_",    "eoi_",          "eos_",        "forced_",       "im_",       "image_",
     "init",    "is_",           "length_",     "logit",         "mask_",     "media_",
     "mlp_act", "model_",        "num_beam",    "output_",       "pad_",      "partial_rotary",
     "qk_norm", "remove_",       "repetition_", "return_",       "rms_norm",  "rope_",
     "router_", "scoring_",      "sep_",        "seq_aux",       "suppress_", "swiglu_",
     "task_",   "temperature",   "tf_",         "tie_encoder",   "time_step", "tokenizer",
     "top_",    "topk_",         "torch",       "transformers_", "typical_",  "video_",
     "vision_", "vit_",          "yarn_"});
constexpr auto quiet_ends = std::to_array<std::string_view>(
    {"_act",         "_activation",  "_coef",   "_coeff", "_dropout",        "_dtype",
     "_eps",         "_epsilon",     "_factor", "_id",    "_implementation", "_loss",
     "_multiplier",  "_multipliers", "_prob",   "_range", "_scale",          "_scaling",
     "_softcapping", "_std",         "_theta"});
constexpr auto quiet_names = std::to_array<std::string_view>({"diversity_penalty",
                                                              "dtype",
                                                              "early_stopping",
                                                              "exponential_decay_length_penalty",
                                                              "finetuning_task",
                                                              "fused_rope",
                                                              "gate_lower_bound",
                                                              "id2label",
                                                              "initial_context_length",
                                                              "label2id",
                                                              "language_model_only",
                                                              "max_length",
                                                              "max_position_embeddings",
                                                              "min_length",
                                                              "multimodal_projector_bias",
                                                              "mla_use_nope",
                                                              "norm_topk_prob",
                                                              "normalization_function",
                                                              "num_logits_to_keep",
                                                              "num_return_sequences",
                                                              "prefix",
                                                              "pretraining_tp",
                                                              "problem_type",
                                                              "process_image_mode",
                                                              "pruned_heads",
                                                              "quantization_config",
                                                              "score_function",
                                                              "use_bfloat16",
                                                              "use_cache",
                                                              "use_gemma_norm",
                                                              "use_grouped_topk",
                                                              "use_mrope",
                                                              "use_pos_enc",
                                                              "use_rmsnorm",
                                                              "use_routing_bias"});

bool has_any(std::string_view key, const auto& parts, const auto& has) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return has(key, part); });
}

bool starts(std::string_view name, std::string_view part) { return name.starts_with(part); }
bool ends(std::string_view name, std::string_view part) { return name.ends_with(part); }

// Returns whether the name of a key suggests that the key affects sizes or types of layers.
bool names_size(std::string_view key) {
  return has_any(key, size_parts, [](std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

}  // namespace

bool is_off(const Value& value) {
  if (value.kind == Value::Kind::list) return std::ranges::all_of(value.items, is_off);
  if (value.kind == Value::Kind::map) return value.entries.empty();
  return value.text.empty() || value.text == "false" || value.text == "null" ||
         value.text.find_first_not_of("0.") == std::string::npos;
}

void check_unread(const Config& config) {
  for (const Entry& entry : config.text().entries) {
    const std::string_view key = entry.key;
    if (config.was_read(key) || is_off(entry.value) || !names_size(key) ||
        has_any(key, idle_starts, starts) || has_any(key, idle_ends, ends) ||
        std::ranges::find(idle_names, key) != idle_names.end())
      continue;
    throw Error(
        entry.origin,
        fmt::format(
            "{} is a key of config.json that is not understood, and may change time or memory",
            in_quotes(key)))
        .allow("0, false or null, or a model file of your own keys (pipewright help scenario)");
  }
}

std::vector<std::string_view> unknown_keys(const Config& config) {
  std::vector<std::string_view> keys;
  for (const Entry& entry : config.text().entries) {
    const std::string_view key = entry.key;
    const bool is_map = entry.value.kind == Value::Kind::map;  // of towers and of text generation
    if (config.was_read(key) || is_off(entry.value) || is_map || names_size(key) ||
        has_any(key, quiet_starts, starts) || has_any(key, quiet_ends, ends) ||
        std::ranges::find(quiet_names, key) != quiet_names.end())
      continue;
    keys.push_back(key);
  }
  return keys;
}

}  // namespace pipewright::config::huggingface
