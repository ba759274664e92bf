#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/training_checks.hpp"
#include "sim/workload/shape/shape.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using Catch::Contains;

// Counts the parameters of config.json files with the sizes of released models, and of others of
// the same families.
namespace {

config::Model read(const std::string& keys) {
  const config::test::Folder folder;
  const config::Value path = config::make_text(folder.write("m/config.json", "{" + keys + "}"), {});
  config::Model model = config::read_model({path, "model"});
  model.mtp_layers = 0;
  return model;
}

std::uint64_t count(const std::string& keys) { return workload::parameter_count(read(keys)); }
std::uint64_t active(const std::string& keys) {
  return workload::active_parameter_count(read(keys));
}

std::string notes_of(const std::string& keys, const std::string& training = "{}") {
  return fmt::format("{}", fmt::join(config::notes_of(read(keys), training_of(training)), "\n"));
}

// JSON list of `layers` words: `word` for each index of `places`, `rest` for the others.
std::string listed(std::size_t layers, const std::vector<std::size_t>& places,
                   const std::string& word, const std::string& rest) {
  std::vector<std::string> words(layers, "\"" + rest + "\"");
  for (const std::size_t place : places) words.at(place) = "\"" + word + "\"";
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// Parameters of one matrix each: queries, keys, values and output of grouped attention; a gated
// MLP; Mamba-2 with one group.
constexpr std::uint64_t attention(std::uint64_t hidden, std::uint64_t heads, std::uint64_t kv_heads,
                                  std::uint64_t dim) {
  return 2 * hidden * heads * dim + 2 * hidden * kv_heads * dim;
}
constexpr std::uint64_t mlp(std::uint64_t hidden, std::uint64_t ffn) { return 3 * hidden * ffn; }
constexpr std::uint64_t mamba_2(std::uint64_t hidden, std::uint64_t heads, std::uint64_t dim,
                                std::uint64_t state) {
  const std::uint64_t values = heads * dim;
  const std::uint64_t channels = values + 2 * state;
  // gates, x, B, C and steps; the convolution over 4 tokens with its bias; decay, skip and bias of
  // the step of each head; the output projection
  return hidden * (values + channels + heads) + channels * 5 + 3 * heads + values * hidden;
}

}  // namespace

TEST_CASE("a sparse attention model counts its indexers", "[model][huggingface]") {
  const auto keys = [](const std::string& type, const std::string& sizes) {
    return fmt::format(R"("model_type": "{}", "kv_lora_rank": 512, "qk_rope_head_dim": 64,
"index_head_dim": 128, "index_topk": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8,
"n_shared_experts": 1, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
"first_k_dense_replace": 3, "max_position_embeddings": 163840, "num_nextn_predict_layers": 1, {})",
                       type, sizes);
  };
  const std::string glm_5 = keys("glm_moe_dsa", R"("hidden_size": 6144, "intermediate_size": 12288,
"num_attention_heads": 64, "num_key_value_heads": 64, "head_dim": 64, "q_lora_rank": 2048,
"qk_nope_head_dim": 192, "qk_head_dim": 256, "v_head_dim": 256, "num_hidden_layers": 78,
"index_n_heads": 32, "indexer_rope_interleave": true, "vocab_size": 154880)");
  // Of each layer: queries of 32 x 128 from 2048, a key of 128 with its LayerNorm and 32 weights
  // from 6144.
  constexpr std::uint64_t indexers = 78ULL * (2048 * 32 * 128 + 6144 * (128 + 32) + 2 * 128);
  CHECK(indexers == 731'008'512U);
  CHECK(count(glm_5) == 743'180'190'720U + indexers);
  // 41.05 billion are active beside the indexers: 8 of 256 experts in 75 layers.
  CHECK(active(glm_5) == 743'180'190'720U - 75ULL * 248 * mlp(6144, 2048) + indexers);
  CHECK(active(glm_5) - indexers == Approx(41.0e9).epsilon(0.002));

  const std::string deepseek = keys("deepseek_v32", R"("hidden_size": 7168,
"intermediate_size": 18432, "num_attention_heads": 128, "q_lora_rank": 1536,
"qk_nope_head_dim": 128, "v_head_dim": 128, "num_hidden_layers": 61, "index_n_heads": 64,
"vocab_size": 129280)");
  CHECK(count(deepseek) == workload::parameter_count(library_model("deepseek-v3")) +
                               61ULL * (1536 * 64 * 128 + 7168 * (128 + 64) + 2 * 128));

  // Only every fourth layer after the third has an indexer of its own.
  const std::string shared = glm_5 + R"(, "index_topk_freq": 4, "index_skip_topk_offset": 3)";
  CHECK(count(glm_5) - count(shared) == indexers / 78 * (78 - 21));
  CHECK(read(shared).pattern[3] == "+E");
  CHECK(read(shared).pattern[6] == "DE");

  CHECK(read(glm_5).indexer->top_k == 2048);
  CHECK_THAT(notes_of(glm_5), !Contains("indexer") && !Contains("mtp_layers:"));
  CHECK_THAT(notes_of(glm_5, "{sequence: 2048}"), !Contains("sequence:"));
  CHECK(workload::parameter_count(library_model("glm-5")) == count(glm_5));
  CHECK(workload::parameter_count(library_model("deepseek-v3.2")) == count(deepseek));
}

TEST_CASE("a model of compressed attention is read", "[model][huggingface]") {
  const std::string keys = R"("model_type": "deepseek_v4", "head_dim": 512, "hc_mult": 4,
"hc_sinkhorn_iters": 20, "hidden_size": 4096, "index_head_dim": 128, "index_n_heads": 64,
"index_topk": 512, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
"num_attention_heads": 64, "num_experts_per_tok": 6, "num_hidden_layers": 5, "num_hash_layers": 3,
"num_key_value_heads": 1, "num_nextn_predict_layers": 1, "o_groups": 8, "o_lora_rank": 1024,
"q_lora_rank": 1024, "qk_rope_head_dim": 64, "sliding_window": 128, "vocab_size": 129280,
"compress_rope_theta": 160000, "compress_ratios": [0, 0, 4, 128, 4, 0])";
  const config::Model model = read(keys);
  CHECK(fmt::format("{}", fmt::join(model.pattern, " ")) == "WE WE IE HE IE");
  CHECK(model.residual_streams == 4);
  config::Model released = library_model("deepseek-v4-flash");
  CHECK(workload::parameter_count(released) == Approx(284e9).epsilon(0.002));
  released.pattern.resize(5);
  released.layers = 5;
  CHECK(workload::parameter_count(released) == workload::parameter_count(model));
  CHECK_THAT(notes_of(keys), Contains("num_hash_layers: the first 3 layers choose experts by a "
                                      "table of tokens"));
}

TEST_CASE("layers of Mamba and of attention have experts", "[model][huggingface]") {
  const auto keys = [](const std::string& sizes, const std::string& layers) {
    return fmt::format(R"("model_type": "granitemoehybrid", "mamba_d_state": 128,
"mamba_d_conv": 4, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_chunk_size": 256,
"mamba_conv_bias": true, "mamba_proj_bias": false, "position_embedding_type": "nope",
"tie_word_embeddings": true, "vocab_size": 100352, "max_position_embeddings": 131072, {},
"layer_types": {})",
                       sizes, layers);
  };
  const std::string small = keys(R"("hidden_size": 4096, "num_hidden_layers": 40,
"num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 72,
"num_experts_per_tok": 10, "intermediate_size": 768, "shared_intermediate_size": 1536,
"mamba_d_head": 64, "mamba_n_heads": 128)",
                                 listed(40, {5, 15, 25, 35}, "attention", "mamba"));
  constexpr std::uint64_t mixture = 72 * mlp(4096, 768) + mlp(4096, 1536) + 72 * 4096 + 2 * 4096;
  constexpr std::uint64_t mamba = mamba_2(4096, 128, 64, 128) + 8192;  // with its norm
  CHECK(count(small) ==
        100352ULL * 4096 + 4096 + 36 * mamba + 4 * attention(4096, 32, 8, 128) + 40 * mixture);
  CHECK(count(small) == 32'207'337'984U);

  // Without experts, every layer has the MLP of the shared expert. "auto" is the width over the
  // heads.
  const std::string micro = keys(R"("hidden_size": 2048, "num_hidden_layers": 4,
"num_attention_heads": 16, "num_key_value_heads": 4, "num_local_experts": 0,
"num_experts_per_tok": 0, "intermediate_size": 8192, "shared_intermediate_size": 8192,
"mamba_d_head": "auto", "mamba_n_heads": 64)",
                                 listed(4, {1}, "attention", "mamba"));
  CHECK(count(micro) == 100352ULL * 2048 + 2048 + 3 * (mamba_2(2048, 64, 64, 128) + 4096) +
                            attention(2048, 16, 4, 128) + 4 * (mlp(2048, 8192) + 2 * 2048));

  const std::string narrow = keys(R"("hidden_size": 1024, "num_hidden_layers": 2,
"num_attention_heads": 8, "num_key_value_heads": 2, "num_local_experts": 16,
"num_experts_per_tok": 4, "intermediate_size": 256, "shared_intermediate_size": 512,
"mamba_d_head": 32, "mamba_n_heads": 64)",
                                  listed(2, {0}, "attention", "mamba"));
  CHECK(count(narrow) == 100352ULL * 1024 + 1024 + mamba_2(1024, 64, 32, 128) + 2048 +
                             attention(1024, 8, 2, 128) +
                             2 * (16 * mlp(1024, 256) + mlp(1024, 512) + 16 * 1024 + 2 * 1024));
}

TEST_CASE("Kimi delta attention has decays and gates of low rank", "[model][huggingface]") {
  const auto keys = [](const std::string& sizes) {
    return R"("model_type": "kimi_linear", "q_lora_rank": null, "num_expert_group": 1,
"topk_group": 1, "moe_layer_freq": 1, "mla_use_nope": true, "moe_renormalize": true,
"first_k_dense_replace": 1, "num_shared_experts": 1, "num_experts_per_token": 8, )" +
           sizes;
  };
  const std::string kimi = keys(R"("hidden_size": 2304, "num_hidden_layers": 27,
"vocab_size": 163840, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 72,
"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
"num_experts": 256, "moe_intermediate_size": 1024, "intermediate_size": 9216,
"linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "kda_layers": [1, 2, 3, 5,
6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26], "head_dim": 128, "num_heads": 32,
"short_conv_kernel_size": 4})");
  // Queries, keys, values and output; the convolution; decays and gates through 128 elements; a
  // strength per head; decay per head with a bias per channel; a norm of 128.
  const auto delta = [](std::uint64_t hidden, std::uint64_t heads, std::uint64_t dim) {
    const std::uint64_t width = heads * dim;
    return 4 * hidden * width + 3 * width * 4 + 2 * (hidden * dim + dim * width) + hidden * heads +
           heads + width + dim;
  };
  constexpr std::uint64_t latent =
      2304ULL * 32 * 192 + 2304 * (512 + 64) + 512 + 512ULL * 32 * 256 + 32ULL * 128 * 2304;
  constexpr std::uint64_t mixture = 256 * mlp(2304, 1024) + mlp(2304, 1024) + 256 * 2304;
  CHECK(count(kimi) == 2ULL * 163840 * 2304 + 2304 + 20 * delta(2304, 32, 128) + 7 * latent +
                           27 * 2 * 2304 + mlp(2304, 9216) + 26 * mixture);
  CHECK(count(kimi) == 49'122'675'072U);
  CHECK_THAT(notes_of(kimi), Contains("linear_attention: the kernels of Kimi delta attention"));

  const std::string tiny = keys(R"("hidden_size": 512, "num_hidden_layers": 2, "vocab_size": 1000,
"num_attention_heads": 4, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
"v_head_dim": 32, "num_experts": 16, "moe_intermediate_size": 128, "intermediate_size": 1024,
"linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1], "head_dim": 64, "num_heads": 8,
"short_conv_kernel_size": 4})");
  CHECK(count(tiny) == 2ULL * 1000 * 512 + 512 + delta(512, 8, 64) + 512 * 4 * 48 + 512 * 80 + 64 +
                           64 * 4 * 64 + 4 * 32 * 512 + 2 * 2 * 512 + mlp(512, 1024) +
                           17 * mlp(512, 128) + 16 * 512);

  // A gate of one full matrix has no product through 64 elements.
  std::string full_gate = tiny;
  full_gate.insert(full_gate.find("\"short_conv"), R"("use_full_rank_gate": true, )");
  CHECK(count(full_gate) == count(tiny) + 512 * 512 - (512 * 64 + 64 * 512));
}

TEST_CASE("short convolutions are counted exactly", "[model][huggingface]") {
  const auto keys = [](const std::string& sizes) {
    return R"("model_type": "lfm2", "conv_bias": false, "conv_L_cache": 3, "tie_embedding": true,
"num_hidden_layers": 16, "vocab_size": 65536, "max_position_embeddings": 128000,
"block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256,
"block_use_swiglu": true, )" +
           sizes;
  };
  const std::string small = keys(R"("hidden_size": 1024, "block_dim": 1024, "conv_dim": 1024,
"intermediate_size": 6656, "block_ff_dim": 6656, "num_attention_heads": 16, "num_heads": 16,
"num_key_value_heads": 8, "layer_types": )" +
                                 listed(16, {2, 5, 8, 10, 12, 14}, "full_attention", "conv"));
  // Two thirds of 6656 are 4437, and 18 x 256 is the next multiple. Attention has norms of 64.
  const auto total = [](std::uint64_t hidden, std::uint64_t heads, std::uint64_t ffn) {
    return 65536 * hidden + hidden + 10 * (4 * hidden * hidden + 3 * hidden) +
           6 * (attention(hidden, heads, 8, 64) + 2 * 64) + 16 * (mlp(hidden, ffn) + 2 * hidden);
  };
  CHECK(count(small) == total(1024, 16, 18 * 256));
  CHECK(count(small) == 354'483'968U);

  // The released 1.2B names its layers with attention by their indices.
  const std::string large = keys(R"("hidden_size": 2048, "block_dim": 2048, "conv_dim": 2048,
"block_ff_dim": 12288, "num_attention_heads": 32, "num_key_value_heads": 8,
"full_attn_idxs": [2, 5, 8, 10, 12, 14])");
  CHECK(count(large) == total(2048, 32, 8192));
  CHECK(count(large) == 1'170'340'608U);

  const std::string mixture = R"("model_type": "lfm2_moe", "conv_L_cache": 3, "hidden_size": 512,
"num_hidden_layers": 4, "vocab_size": 1000, "num_attention_heads": 8, "num_key_value_heads": 2,
"intermediate_size": 1024, "moe_intermediate_size": 256, "num_experts": 8,
"num_experts_per_tok": 2, "num_dense_layers": 1, "use_expert_bias": true,
"layer_types": ["conv", "full_attention", "conv", "conv"])";
  CHECK(count(mixture) == 1000 * 512 + 512 + 3 * (4 * 512 * 512 + 3 * 512) +
                              attention(512, 8, 2, 64) + 2 * 64 + 4 * 2 * 512 + mlp(512, 1024) +
                              3 * (8 * mlp(512, 256) + 8 * 512));
}

TEST_CASE("mixtures of Ling, ERNIE and Hunyuan have their released parameters",
          "[model][huggingface]") {
  const auto ling = [](const std::string& type, const std::string& sizes) {
    return fmt::format(R"("model_type": "{}", "use_bias": false, "vocab_size": 157184,
"moe_router_enable_expert_bias": true, "num_nextn_predict_layers": 0, "head_dim": 128, {})",
                       type, sizes);
  };
  // 20 layers of 2048, the first of them dense; norms of queries and keys.
  const std::string mini = ling("bailing_moe", R"("num_hidden_layers": 20, "hidden_size": 2048,
"intermediate_size": 5120, "first_k_dense_replace": 1, "moe_intermediate_size": 512,
"moe_shared_expert_intermediate_size": 512, "num_shared_experts": 1, "num_experts": 256,
"num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "num_attention_heads": 16,
"num_key_value_heads": 4, "use_qk_norm": true, "use_qkv_bias": false)");
  CHECK(count(mini) == 2ULL * 157184 * 2048 + 2048 +
                           20 * (attention(2048, 16, 4, 128) + 2 * 128 + 2 * 2048) +
                           mlp(2048, 5120) + 19 * (257 * mlp(2048, 512) + 256 * 2048));
  CHECK(count(mini) == 16'255'638'528U);
  const std::string lite = ling("bailing_moe_v2", R"("num_hidden_layers": 3, "hidden_size": 2048,
"intermediate_size": 5632, "moe_intermediate_size": 1408, "num_shared_experts": 2,
"num_experts": 64, "num_experts_per_tok": 6, "num_attention_heads": 16, "num_key_value_heads": 4,
"use_qkv_bias": true)");
  CHECK(count(lite) == 2ULL * 157184 * 2048 + 2048 +
                           3 * (attention(2048, 16, 4, 128) + 24 * 128 + 2 * 2048 +
                                66 * mlp(2048, 1408) + 64 * 2048));

  const std::string ernie = R"("model_type": "ernie4_5_moe", "hidden_size": 8192,
"intermediate_size": 28672, "num_hidden_layers": 54, "num_attention_heads": 64,
"num_key_value_heads": 8, "vocab_size": 103424, "tie_word_embeddings": false, "use_bias": false,
"moe_num_experts": 64, "moe_k": 8, "moe_intermediate_size": 3584, "moe_layer_start_index": 3,
"moe_layer_end_index": 53, "moe_layer_interval": 1, "moe_capacity": [64, 64, 64],
"moe_gate": "topk", "moe_use_aux_free": true)";
  CHECK(count(ernie) == 2ULL * 103424 * 8192 + 8192 +
                            54 * (attention(8192, 64, 8, 128) + 2 * 8192) + 3 * mlp(8192, 28672) +
                            51 * (64 * mlp(8192, 3584) + 64 * 8192));
  CHECK(count(ernie) == Approx(299.5e9).epsilon(0.001));
  CHECK(active(ernie) == Approx(47.9e9).epsilon(0.002));
  const std::string ernie_21b = R"("model_type": "ernie4_5_moe", "hidden_size": 2560,
"intermediate_size": 12288, "num_hidden_layers": 28, "num_attention_heads": 20, "head_dim": null,
"num_key_value_heads": 4, "vocab_size": 103424, "tie_word_embeddings": true,
"moe_num_experts": 64, "moe_k": 6, "moe_num_shared_experts": 2, "moe_intermediate_size": 1536,
"moe_layer_start_index": 1, "moe_layer_end_index": -1, "moe_layer_interval": 1)";
  CHECK(count(ernie_21b) == 103424ULL * 2560 + 2560 +
                                28 * (attention(2560, 20, 4, 128) + 2 * 2560) + mlp(2560, 12288) +
                                27 * (66 * mlp(2560, 1536) + 64 * 2560));
  // Experts end after the third layer.
  const std::string ending = R"("model_type": "ernie4_5_moe", "hidden_size": 64,
"intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 2, "vocab_size": 1000,
"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32, "moe_layer_start_index": 1,
"moe_layer_end_index": 2)";
  CHECK(read(ending).pattern == std::vector<std::string>{"*-", "*E", "*E", "*-"});

  const auto hunyuan = [](std::size_t layers, const std::string& sizes) {
    const auto repeated = [&](int value) {
      return fmt::format("[{}]", fmt::join(std::vector<int>(layers, value), ", "));
    };
    return fmt::format(R"("model_type": "hunyuan_v1_moe", "hidden_size": 4096,
"intermediate_size": 3072, "num_hidden_layers": {}, "num_attention_heads": 32,
"num_key_value_heads": 8, "attention_head_dim": 128, "tie_word_embeddings": true,
"vocab_size": 128167, "num_experts": 64, "moe_topk": {}, "moe_intermediate_size": {},
"num_shared_expert": {}, "moe_layer_num_skipped": 0, "use_mixed_mlp_moe": true, "use_cla": false,
"kv_lora_rank": null, "num_media_embeds": 257, "org_vocab_size": 128167{})",
                       layers, repeated(8), repeated(3072), repeated(1), sizes);
  };
  CHECK(count(hunyuan(32, "")) == 128167ULL * 4096 + 4096 +
                                      32 * (attention(4096, 32, 8, 128) + 2 * 128 + 2 * 4096 +
                                            65 * mlp(4096, 3072) + 64 * 4096));
  CHECK(count(hunyuan(32, "")) == 80'393'183'232U);
  CHECK(active(hunyuan(32, "")) == Approx(12.75e9).epsilon(0.001));
  CHECK(count(hunyuan(32, "")) - count(hunyuan(31, "")) ==
        (80'393'183'232U - 128168ULL * 4096) / 32);
  CHECK_THAT(config::test::error_of([&] { count(hunyuan(2, R"(, "use_cla": true)")); }),
             Contains("keys and values that layers share (use_cla)"));
  std::string uneven = hunyuan(2, "");
  uneven.replace(uneven.find("[8, 8]"), 6, "[8, 4]");
  CHECK_THAT(config::test::error_of([&] { count(uneven); }),
             Contains("moe_topk differs from layer to layer, which is not modelled"));
}

TEST_CASE("attention and Mamba side by side, and Mamba-1, are counted exactly",
          "[model][huggingface]") {
  const auto falcon = [](const std::string& sizes) {
    return R"("model_type": "falcon_h1", "mamba_n_groups": 1, "mamba_d_conv": 4,
"mamba_expand": 2, "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_proj_bias": false,
"mamba_norm_before_gate": false, "mamba_use_mlp": true, "projectors_bias": false,
"attn_layer_indices": null, "mlp_multipliers": [0.88, 0.58], "ssm_multipliers": [0.35, 0.25],
"attention_in_multiplier": 1.0, "ssm_in_multiplier": 1.25, )" +
           sizes;
  };
  const std::string half = falcon(R"("hidden_size": 1024, "intermediate_size": 2048,
"num_hidden_layers": 36, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
"mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_d_state": 128,
"mamba_rms_norm": false, "vocab_size": 32784)");
  CHECK(count(half) == 2ULL * 32784 * 1024 + 1024 +
                           36 * (mamba_2(1024, 24, 64, 128) + attention(1024, 8, 2, 64) +
                                 mlp(1024, 2048) + 2 * 1024));
  CHECK(count(half) == 521'411'104U);  // as released
  const std::string other = falcon(R"("hidden_size": 512, "intermediate_size": 1024,
"num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
"mamba_d_ssm": 768, "mamba_n_heads": 24, "mamba_d_head": "auto", "mamba_d_state": 64,
"mamba_rms_norm": true, "vocab_size": 1000)");
  CHECK(count(other) == 2ULL * 1000 * 512 + 512 +
                            2 * (mamba_2(512, 24, 32, 64) + 768 + attention(512, 8, 2, 64) +
                                 mlp(512, 1024) + 2 * 512));

  const auto jamba = [](const std::string& sizes) {
    return R"("model_type": "jamba", "attn_layer_offset": 4, "attn_layer_period": 8,
"expert_layer_offset": 1, "expert_layer_period": 2, "mamba_conv_bias": true, "mamba_d_conv": 4,
"mamba_proj_bias": false, "use_mamba_kernels": true, "sliding_window": null,
"max_position_embeddings": 262144, "vocab_size": 65536, "num_logits_to_keep": 1, )" +
           sizes;
  };
  const std::string mini = jamba(R"("hidden_size": 4096, "intermediate_size": 14336,
"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_experts": 16,
"num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_dt_rank": 256, "mamba_expand": 2)");
  // Gates and x; the convolution with its bias; steps of a rank, B and C; steps, with a bias;
  // decays and skips; norms of steps, B and C; the output projection.
  const auto mamba_1 = [](std::uint64_t hidden, std::uint64_t rank, std::uint64_t state) {
    const std::uint64_t width = 2 * hidden;
    return hidden * 2 * width + width * 5 + width * (rank + 2 * state) + rank * width + width +
           width * state + width + rank + 2 * state + width * hidden;
  };
  CHECK(count(mini) == 2ULL * 65536 * 4096 + 4096 + 28 * mamba_1(4096, 256, 16) +
                           4 * attention(4096, 32, 8, 128) + 32 * 2 * 4096 +
                           16 * (17 * mlp(4096, 14336) + 16 * 4096));
  CHECK(count(mini) == 51'570'323'328U);  // as released
  CHECK_THAT(notes_of(mini), Contains("mamba: the scan of Mamba-1 takes the time of its bytes"));
  // A single expert is an MLP without a router. "auto" is hidden / 16, rounded up.
  const std::string dense = jamba(R"("hidden_size": 100, "intermediate_size": 256,
"num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 1,
"num_experts_per_tok": 1, "mamba_dt_rank": "auto")");
  CHECK(count(dense) == 2ULL * 65536 * 100 + 100 + 7 * mamba_1(100, 7, 16) +
                            attention(100, 4, 2, 25) + 8 * (2 * 100 + mlp(100, 256)));
}

TEST_CASE("layers with a window have heads of their own", "[model][huggingface]") {
  // 30 layers, every sixth with heads of 512 whose keys are values, too; an MLP beside the experts.
  const std::string gemma = R"("model_type": "gemma4", "text_config": {"attention_k_eq_v": true,
"enable_moe_block": true, "global_head_dim": 512, "head_dim": 256, "hidden_size": 2816,
"hidden_size_per_layer_input": 0, "intermediate_size": 2112, "moe_intermediate_size": 704,
"num_attention_heads": 16, "num_experts": 128, "num_global_key_value_heads": 2,
"num_hidden_layers": 30, "num_key_value_heads": 8, "num_kv_shared_layers": 0,
"sliding_window": 1024, "top_k_experts": 8, "use_bidirectional_attention": "vision",
"use_double_wide_mlp": false, "vocab_size": 262144, "vocab_size_per_layer_input": 262144})";
  constexpr std::uint64_t windowed = attention(2816, 16, 8, 256) + 2 * 256;
  constexpr std::uint64_t full = 2ULL * 2816 * 16 * 512 + 2816ULL * 2 * 512 + 2 * 512;
  CHECK(count(gemma) == 262144ULL * 2816 + 2816 + 25 * windowed + 5 * full +
                            30 * (4 * 2816 + 128 * 2816 + 128 * mlp(2816, 704) + mlp(2816, 2112)));
  CHECK(active(gemma) == Approx(3.8e9).epsilon(0.01));

  // Values of 128 beside keys of 192; 8 instead of 4 heads of keys with a window.
  const std::string mimo = R"("model_type": "mimo_v2_flash", "hidden_size": 4096,
"num_hidden_layers": 3, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192,
"v_head_dim": 128, "intermediate_size": 16384, "vocab_size": 152576, "sliding_window": 128,
"attention_chunk_size": 128, "swa_num_attention_heads": 64, "swa_num_key_value_heads": 8,
"swa_head_dim": 192, "swa_v_head_dim": 128, "hybrid_layer_pattern": [0, 1, 1],
"moe_layer_freq": [0, 1, 1], "moe_intermediate_size": 2048, "n_routed_experts": 256,
"num_experts_per_tok": 8)";
  const auto heads = [](std::uint64_t kv_heads) {
    return 4096ULL * (64 * 192 + kv_heads * (192 + 128)) + 64 * 128 * 4096ULL;
  };
  CHECK(count(mimo) == 2ULL * 152576 * 4096 + 4096 + heads(4) + 2 * heads(8) + 3 * 2 * 4096 +
                           mlp(4096, 16384) + 2 * (256 * mlp(4096, 2048) + 256 * 4096));
  CHECK(read(mimo).pattern == std::vector<std::string>{"*-", "SE", "SE"});

  const std::string step = R"("model_type": "step3p7", "text_config": {"model_type": "step3p5",
"hidden_size": 4096, "intermediate_size": 11264, "num_hidden_layers": 4,
"num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128, "vocab_size": 128896,
"sliding_window": 512, "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
"full_attention", "sliding_attention"], "attention_other_setting": {"attention_type":
"sliding_attention", "num_attention_heads": 96, "num_attention_groups": 8, "head_dim": 128},
"moe_layers_enum": "2,3", "moe_num_experts": 288, "moe_top_k": 8, "moe_intermediate_size": 1280,
"share_expert_dim": 1280, "use_head_wise_attn_gate": true})";
  CHECK(count(step) == 2ULL * 128896 * 4096 + 4096 + 2 * attention(4096, 64, 8, 128) +
                           2 * attention(4096, 96, 8, 128) + 4 * (2 * 128 + 2 * 4096) +
                           2 * mlp(4096, 11264) + 2 * (289 * mlp(4096, 1280) + 288 * 4096));
}
