#include "sim/config/huggingface/family.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/huggingface/missing.hpp"
#include "sim/config/text/misspelt.hpp"

namespace pipewright::config::huggingface {
namespace {

using Layers = Family::Layers;

// Supported families. Vision models use the family of the text model that they contain.
constexpr std::array families{
    Family{.type = "arcee", .gated = false},
    Family{.type = "bailing_moe"},
    Family{.type = "bailing_moe_v2"},
    Family{.type = "deepseek_v2"},
    Family{.type = "deepseek_v3"},
    Family{.type = "deepseek_v32", .indexer = true},
    Family{.type = "deepseek_v4", .layers = Layers::compressed, .indexer = true},
    Family{.type = "deepseek_ref", .layers = Layers::compressed, .indexer = true},
    Family{.type = "dots1", .qk_norm = true},
    Family{.type = "ernie4_5", .tied = true},
    Family{.type = "ernie4_5_moe", .tied = true},
    Family{.type = "falcon_h1", .layers = Layers::parallel, .mamba_norm = false},
    Family{.type = "gemma", .tied = true, .head_dim = 256},
    Family{.type = "gemma2",
           .tied = true,
           .post_norms = true,
           .head_dim = 256,
           .window = 4096,
           .full_every = 2},
    Family{.type = "gemma3",
           .tied = true,
           .qk_norm = true,
           .post_norms = true,
           .vocabulary = 262208,
           .heads = 8,
           .kv_heads = 4,
           .head_dim = 256,
           .window = 4096,
           .full_every = 6},
    Family{.type = "gemma4",
           .tied = true,
           .qk_norm = true,
           .window_has_heads = true,
           .post_norms = true,
           .mlp_is_shared = true,
           .head_dim = 256,
           .window = 512,
           .full_every = 6},
    Family{.type = "glm", .attention_bias = "qkv", .head_dim = 128},
    Family{.type = "glm4", .post_norms = true, .attention_bias = "qkv", .head_dim = 128},
    Family{.type = "glm4_moe", .attention_bias = "qkv", .head_dim = 128},
    Family{.type = "glm4v_moe", .attention_bias = "qkv", .head_dim = 128},
    Family{.type = "glm4_moe_lite"},
    Family{.type = "glm_moe_dsa", .indexer = true},
    Family{.type = "gpt2",
           .gated = false,
           .layernorm = true,
           .tied = true,
           .learned_positions = true,
           .biases = "true"},
    Family{.type = "gpt_neox", .gated = false, .layernorm = true, .biases = "true"},
    Family{.type = "gpt_oss",
           .attention_sinks = true,
           .biases = "true",
           .expert_is_ffn = true,
           .head_dim = 64,
           .window = 128,
           .full_every = 2},
    Family{.type = "granite"},
    Family{.type = "granitemoe", .expert_is_ffn = true},
    Family{.type = "granitemoehybrid", .layers = Layers::mixed, .expert_is_ffn = true},
    Family{.type = "granitemoeshared", .expert_is_ffn = true},
    Family{.type = "hunyuan_v1_dense", .qk_norm = true},
    Family{.type = "hunyuan_v1_moe", .qk_norm = true, .expert_is_ffn = true, .shared_expert = true},
    Family{.type = "jamba",
           .layers = Layers::mixed,
           .expert_is_ffn = true,
           .single_is_mlp = true,
           .mamba_1 = true},
    Family{.type = "kimi_k2"},
    Family{.type = "kimi_linear", .layers = Layers::kimi},
    Family{.type = "lfm2", .layers = Layers::mixed, .tied = true, .qk_norm = true},
    Family{.type = "lfm2_moe", .layers = Layers::mixed, .tied = true, .qk_norm = true},
    Family{.type = "llama"},
    Family{.type = "llama4", .qk_norm = true, .expert_is_ffn = true, .shared_expert = true},
    Family{.type = "mamba2", .layers = Layers::mamba, .layernorm = false},
    Family{.type = "mimo", .biases = "qkv", .window_is_optional = true},
    Family{.type = "mimo_v2_flash", .window_has_heads = true},
    Family{.type = "minimax_m2", .qk_norm = true, .expert_is_ffn = true},
    Family{.type = "minimax_m3", .qk_norm = true, .expert_is_ffn = true, .sparse_is_full = true},
    Family{.type = "minimax_m3_vl", .qk_norm = true, .expert_is_ffn = true, .sparse_is_full = true},
    Family{.type = "mistral", .window = 4096},
    Family{.type = "mixtral", .expert_is_ffn = true},
    Family{.type = "nemotron", .gated = false, .layernorm = true},
    Family{.type = "nemotron-nas", .layers = Layers::blocks},
    Family{.type = "nemotron_h", .layers = Layers::hybrid, .gated = false, .head_dim = 128},
    Family{.type = "olmo", .layernorm = true},
    Family{.type = "olmo2", .qk_norm = true},
    Family{.type = "olmo3", .qk_norm = true, .window = 4096, .full_every = 4},
    Family{.type = "olmoe", .qk_norm = true, .expert_is_ffn = true},
    Family{.type = "phi3"},
    Family{.type = "phimoe", .layernorm = true, .expert_is_ffn = true},
    Family{.type = "qwen2", .biases = "qkv", .window_is_optional = true},
    Family{.type = "qwen2_5_vl", .biases = "qkv", .window_is_optional = true},
    Family{.type = "qwen2_moe", .biases = "qkv", .window_is_optional = true},
    Family{.type = "qwen2_vl", .biases = "qkv", .window_is_optional = true},
    Family{.type = "qwen3", .qk_norm = true, .head_dim = 128, .window_is_optional = true},
    Family{.type = "qwen3_5",
           .layers = Layers::linear,
           .qk_norm = true,
           .output_gate = true,
           .head_dim = 256,
           .full_every = 4},
    Family{.type = "qwen3_5_moe",
           .layers = Layers::linear,
           .qk_norm = true,
           .output_gate = true,
           .head_dim = 256,
           .full_every = 4},
    Family{.type = "qwen3_moe", .qk_norm = true, .head_dim = 128, .window_is_optional = true},
    Family{.type = "qwen3_next",
           .layers = Layers::linear,
           .qk_norm = true,
           .output_gate = true,
           .head_dim = 256,
           .full_every = 4},
    Family{.type = "qwen3_vl", .qk_norm = true, .head_dim = 128},
    Family{.type = "qwen3_vl_moe", .qk_norm = true},
    Family{.type = "seed_oss", .attention_bias = "qkv", .head_dim = 128},
    Family{.type = "smollm3", .tied = true},
    Family{.type = "starcoder2", .gated = false, .layernorm = true, .tied = true},
    Family{.type = "step3p5", .qk_norm = true, .window_has_heads = true},
    Family{.type = "step3p7", .qk_norm = true, .window_has_heads = true},
};

// Returns the type that a text misspells by few letters; empty if there is none. A type with other
// digits is another generation of models.
std::string_view misspelt_type(std::string_view type, std::span<const std::string_view> names) {
  const std::string_view name = misspelt_name(type, names);
  const std::size_t longer = std::max(type.size(), name.size());
  const std::size_t shorter = std::min(type.size(), name.size());
  return longer - shorter > 1 ? std::string_view() : name;
}

}  // namespace

const Family& family_of(Config& config) {
  std::vector<std::string_view> names;
  for (const Family& family : families) names.push_back(family.type);
  const std::string allowed = fmt::format(
      "{}; or a model of your own keys, as in pipewright help scenario", fmt::join(names, ", "));
  // The text part of a vision model may leave out its type.
  const Config::Match match = config.find({"model_type"});
  const Value* const named = match ? match.value : find(config.whole(), "model_type");
  if (named == nullptr)
    throw Error(config.origin(), "model_type is missing, which gives the other keys their meaning")
        .allow(allowed);
  std::string_view type = read_text({*named, "model_type"}, allowed);
  constexpr std::string_view text = "_text";
  if (type.ends_with(text)) type.remove_suffix(text.size());
  const auto* const family = std::ranges::find(families, type, &Family::type);
  if (family != families.end()) return *family;
  const std::string missing = missing_parts(config);
  const std::string reason =
      missing.empty() ? "" : fmt::format(": it has parts that are not modelled, {}", missing);
  Error error(named->origin,
              fmt::format("model_type {} is not understood{}", in_quotes(named->text), reason));
  throw error.suggest_name(misspelt_type(type, names)).allow(allowed);
}

}  // namespace pipewright::config::huggingface
