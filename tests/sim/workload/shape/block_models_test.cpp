#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/training_checks.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/layout_checks.hpp"
#include "sim/workload/shape/shape.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using Catch::Contains;
using workload::LayerKind;

// Reads config.json files with the sizes of released models whose layers differ in size, whose
// attention is sparse, or which have attention residuals, and counts their parameters.
namespace {

config::Model read(const std::string& keys) {
  const config::test::Folder folder;
  const config::Value path = config::make_text(folder.write("m/config.json", "{" + keys + "}"), {});
  return config::read_model({path, "model"});
}

std::string fault(const std::string& keys) {
  return config::test::error_of([&] { read(keys); });
}

std::string notes_of(const config::Model& model) {
  return fmt::format("{}", fmt::join(config::notes_of(model, training_of("{}")), "\n"));
}

constexpr std::uint64_t mlp(std::uint64_t hidden, std::uint64_t ffn) { return 3 * hidden * ffn; }

// An entry of block_configs; a factor of 0: no MLP.
std::string block(bool attends, std::string_view factor) {
  return fmt::format(
      R"({{"attention": {{"n_heads_in_group": {}, "no_op": {}, "replace_with_linear": false,
"sparsify": null, "window_length": null}}, "ffn": {{"ffn_mult": {}, "no_op": {},
"replace_with_linear": false, "sparsify": null}}}})",
      attends ? "8" : "null", !attends, factor == "0" ? "null" : factor, factor == "0");
}

std::string nemotron(const std::vector<std::string>& blocks, const std::string& sizes) {
  return fmt::format(
      R"("model_type": "nemotron-nas", "block_configs": [{}], "attention_bias": false,
"hidden_act": "silu", "intermediate_size": null, "num_key_value_heads": null, "mlp_bias": false,
"tie_word_embeddings": false, "num_hidden_layers": {}, {})",
      fmt::join(blocks, ", "), blocks.size(), sizes);
}

// Llama-3_3-Nemotron-Super-49B-v1: runs of blocks with equal parts.
struct Run {
  int count;
  bool attends;
  const char* factor;
};
constexpr std::array super_49b{
    Run{1, true, "2.625"},   Run{5, true, "5.25"},     Run{2, false, "2.625"},
    Run{3, true, "5.25"},    Run{1, false, "3.28125"}, Run{30, true, "5.25"},
    Run{1, false, "1.3125"}, Run{2, false, "2.625"},   Run{1, false, "1.3125"},
    Run{1, false, "5.25"},   Run{1, false, "1.3125"},  Run{1, false, "2.625"},
    Run{3, false, "1.3125"}, Run{1, true, "5.25"},     Run{1, false, "1.3125"},
    Run{2, false, "1.0"},    Run{1, false, "1.3125"},  Run{3, false, "1.0"},
    Run{2, false, "1.3125"}, Run{2, false, "0.5"},     Run{2, false, "1.0"},
    Run{2, false, "0.5"},    Run{1, false, "1.0"},     Run{2, false, "0.5"},
    Run{9, true, "5.25"}};

config::Model read_super() {
  std::vector<std::string> blocks;
  for (const Run& run : super_49b)
    for (int i = 0; i < run.count; ++i) blocks.push_back(block(run.attends, run.factor));
  return read(nemotron(blocks, R"("hidden_size": 8192, "num_attention_heads": 64,
"vocab_size": 128256, "max_position_embeddings": 131072)"));
}

}  // namespace

TEST_CASE("Nemotron Super 49B has MLPs of six sizes, and attention in 49 of 80 layers",
          "[model][huggingface]") {
  const config::Model model = read_super();
  CHECK(model.layers == 80);
  CHECK(model.kv_heads == 8);
  CHECK(model.ffn == 28672);
  CHECK(model.mlp_sizes == std::vector<std::uint32_t>{28672, 17920, 14336, 7168, 5632, 2816});
  constexpr std::uint64_t widths = 49 * 28672 + 17920 + 6 * 14336 + 10 * 7168 + 8 * 5632 + 6 * 2816;
  constexpr std::uint64_t attention = 2ULL * 8192 * 8192 + 2ULL * 8192 * 8 * 128;
  CHECK(workload::parameter_count(model) ==
        2ULL * 128256 * 8192 + mlp(8192, widths) + 49 * attention + (49 + 80 + 1) * 8192);
  CHECK(workload::parameter_count(model) == 49'867'145'216U);
}

TEST_CASE("each size of an MLP is a kind of layer with products of its own", "[model]") {
  const config::Model model = read_super();
  const config::Training training = training_of("{sequence: 4096}");
  const workload::ModelSetting setting{model, training,
                                       workload::sizes_of(model, training, config::Parallel{})};
  const auto mlp_columns = [&](std::uint32_t layer) {
    double columns = 0;
    for (const workload::Kernel& kernel :
         layer_kernels(setting, workload::kind_of_layer(model, layer)).forward)
      if (kernel.part == workload::Part::mlp_in) columns = std::max(columns, kernel.columns);
    return columns;
  };
  CHECK(mlp_columns(0) == 2 * 14336);
  CHECK(mlp_columns(1) == 2 * 28672);
  CHECK(mlp_columns(6) == 2 * 14336);  // of an MLP alone
  CHECK(mlp_columns(11) == 2 * 17920);
  CHECK(mlp_columns(69) == 2 * 2816);
  CHECK(name_of(workload::kind_of_layer(model, 1)) == "dense layer");
  CHECK(name_of(workload::kind_of_layer(model, 0)) == "dense layer, MLP size 3");
  CHECK(name_of(workload::kind_of_layer(model, 11)) == "MLP layer, MLP size 2");
  CHECK(workload::kinds_of(model).size() == 2 + 6);
  // The first layers alone keep their sizes.
  const config::Model first = model_of(
      "{name: m, layers: 2, pattern: '-(*-)*', ffn_by_layer: [32, 64], hidden: 32, heads: 2, "
      "vocabulary: 100, sequence: 64}");
  CHECK(workload::ffn_of(first, workload::kind_of_layer(first, 0)) == 32);
  CHECK(workload::ffn_of(first, workload::kind_of_layer(first, 1)) == 64);
}

TEST_CASE("tensor parallelism divides every size of an MLP", "[model]") {
  const config::Model model = model_of(
      "{name: m, layers: 2, ffn_by_layer: [64, 36], hidden: 32, heads: 8, vocabulary: 100, "
      "sequence: 64}");
  config::Parallel parallel;
  parallel.tp.value = 8;
  CHECK_THAT(
      config::test::error_of([&] { workload::check_layout(model, training_of("{}"), parallel); }),
      Contains("the size of an MLP of the model (36)"));
}

TEST_CASE("sizes of MLPs that do not fit the layers are refused", "[model]") {
  const auto fault_of = [](const std::string& more) {
    return config::test::error_of([&] {
      model_of("{name: m, hidden: 32, heads: 2, vocabulary: 100, sequence: 64, " + more + "}");
    });
  };
  CHECK_THAT(fault_of("layers: 3, ffn_by_layer: [64, 32]"),
             Contains("ffn_by_layer has 2 sizes, and 3 layers have an MLP"));
  CHECK_THAT(fault_of("layers: 2, ffn: 64, ffn_by_layer: [64, 32]"),
             Contains("ffn and ffn_by_layer exclude each other"));
  CHECK_THAT(fault_of("layers: 2, ffn_by_layer: [64, 32], experts: {count: 2, ffn: 8}"),
             Contains("ffn_by_layer needs layers of attention and MLPs alone"));
}

TEST_CASE("layers with neither attention nor MLP are left out, and other replacements are refused",
          "[model][huggingface]") {
  const std::string sizes = R"("hidden_size": 64, "num_attention_heads": 8, "vocab_size": 100)";
  const config::Model model = read(nemotron(
      {block(true, "1.0"), block(false, "0"), block(true, "0"), block(false, "0")}, sizes));
  CHECK(model.pattern == std::vector<std::string>{"*-", "*"});
  CHECK_THAT(notes_of(model), Contains("2 layers with neither attention nor an MLP"));
  std::string linear = block(true, "1.0");
  const std::string off = R"("replace_with_linear": false)";
  linear.replace(linear.find(off), off.size(), R"("replace_with_linear": true)");
  CHECK_THAT(fault(nemotron({linear}, sizes)),
             Contains("block_configs has a block with replace_with_linear"));
}

TEST_CASE("MiniMax M3 is read with attention to all keys, as Megatron-Bridge trains it",
          "[model][huggingface]") {
  std::vector<int> sparse(60, 1);
  for (const std::size_t layer : {0U, 1U, 2U}) sparse[layer] = 0;
  const std::string layers = fmt::format("[{}]", fmt::join(sparse, ", "));
  config::Model model =
      read(fmt::format(R"("model_type": "minimax_m3_vl", "vision_config": {{"hidden_size": 1280}},
"text_config": {{"hidden_size": 6144, "intermediate_size": 3072, "dense_intermediate_size": 12288,
"shared_intermediate_size": 3072, "num_hidden_layers": 60, "num_attention_heads": 64,
"num_key_value_heads": 4, "head_dim": 128, "vocab_size": 200064,
"max_position_embeddings": 1048576, "rms_norm_eps": 1e-06, "use_gemma_norm": true,
"attention_output_gate": false, "rope_theta": 5000000, "rotary_dim": 64,
"partial_rotary_factor": 0.5, "hidden_act": "swigluoai", "use_qk_norm": true,
"qk_norm_type": "per_head", "tie_word_embeddings": false, "num_local_experts": 128,
"num_experts_per_tok": 4, "n_shared_experts": 1, "scoring_func": "sigmoid",
"use_routing_bias": true, "swiglu_alpha": 1.702, "swiglu_limit": 7.0, "num_mtp_modules": 7,
"num_nextn_predict_layers": 1, "routed_scaling_factor": 2.0, "moe_layer_freq": {0},
"sparse_attention_config": {{"use_sparse_attention": true, "sparse_index_dim": 128,
"sparse_num_index_heads": 4, "sparse_topk_blocks": 16, "sparse_block_size": 128,
"sparse_score_type": "max", "sparse_init_block": 0, "sparse_local_block": 1,
"sparse_attention_freq": {0}}}}})",
                       layers));
  CHECK(model.experts->first_dense == 3);
  CHECK(model.ffn == 12288);
  CHECK(model.experts->ffn == 3072);
  CHECK(model.mtp_layers == 1);
  model.mtp_layers = 0;
  constexpr std::uint64_t attention = 2ULL * 6144 * 64 * 128 + 2ULL * 6144 * 4 * 128 + 2 * 128;
  constexpr std::uint64_t mixture = 129 * mlp(6144, 3072) + 128 * 6144;
  CHECK(workload::parameter_count(model) == 2ULL * 200064 * 6144 + 6144 +
                                                60 * (attention + 2 * 6144) + 3 * mlp(6144, 12288) +
                                                57 * mixture);
  // 428 billion, less the indexers, the vision tower and its projector.
  CHECK(workload::parameter_count(model) > 425'000'000'000U);
  CHECK_THAT(notes_of(model),
             Contains("attention to all keys, as Megatron-Bridge trains it; sequences above 2048 "
                      "tokens (16 blocks of 128 keys)") &&
                 Contains("224 million parameters are left out"));
}

TEST_CASE("Kimi K3 has gates of latent attention, and a note on its attention residuals",
          "[model][huggingface]") {
  std::vector<int> deltas;
  std::vector<int> full;
  for (int layer = 1; layer <= 93; ++layer)
    (layer % 4 == 0 || layer == 93 ? full : deltas).push_back(layer);
  const config::Model model =
      read(fmt::format(R"("model_type": "kimi_k3", "text_config": {{"model_type": "kimi_linear",
"activation_situ_beta": 4.0, "activation_situ_linear_beta": 25.0, "attn_res_block_size": 12,
"first_k_dense_replace": 1, "hidden_act": "situ", "hidden_size": 7168, "intermediate_size": 33792,
"kv_lora_rank": 512, "latent_moe_use_norm": true, "linear_attn_config": {{"full_attn_layers": [{}],
"gate_lower_bound": -5.0, "head_dim": 128, "kda_layers": [{}], "num_heads": 96,
"short_conv_kernel_size": 4, "use_full_rank_gate": true}}, "max_position_embeddings": 1048576,
"mla_use_nope": true, "mla_use_output_gate": true, "moe_intermediate_size": 3072,
"moe_layer_freq": 1, "num_attention_heads": 96, "num_experts": 896, "num_experts_per_token": 16,
"num_expert_group": 1, "topk_group": 1, "use_grouped_topk": true, "num_hidden_layers": 93, "num_key_value_heads": 96, "num_shared_experts": 2, "q_lora_rank": 1536,
"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "routed_expert_hidden_size": 3584,
"v_head_dim": 128, "vocab_size": 163840}})",
                       fmt::join(full, ", "), fmt::join(deltas, ", ")));
  CHECK(model.output_gate);
  constexpr std::uint64_t hidden = 7168;
  constexpr std::uint64_t width = 96 * 128;
  constexpr std::uint64_t latent = hidden * 1536 + 1536 + 1536ULL * 96 * 192 + hidden * 576 + 512 +
                                   512ULL * 96 * 256 + 2 * width * hidden;
  // Queries, keys, values, gates and output; the convolution; decays through 128 elements; a
  // strength per head; a decay per head, with a bias per channel; a norm.
  constexpr std::uint64_t delta = 5 * hidden * width + 3 * width * 4 + hidden * 128 + 128 * width +
                                  hidden * 96 + 96 + width + 128;
  constexpr std::uint64_t mixture =
      896 * mlp(3584, 3072) + 2 * mlp(hidden, 3072) + 2 * hidden * 3584 + 896 * hidden;
  CHECK(workload::parameter_count(model) == 2ULL * 163840 * hidden + hidden + 69 * delta +
                                                24 * latent + 93 * 2 * hidden + mlp(hidden, 33792) +
                                                92 * mixture);
  CHECK(workload::parameter_count(model) / 1'000'000'000U == 2779);
  CHECK_THAT(notes_of(model),
             Contains("attention residuals are left out, which read up to 8 hidden states") &&
                 Contains("one of each block of 12 layers"));
  CHECK_THAT(config::test::error_of([] {
               model_of(
                   "{name: m, layers: 2, hidden: 64, heads: 2, vocabulary: 100, sequence: 64, "
                   "output_gate: true, latent: {query_rank: 16, kv_rank: 16, "
                   "nope_head_dim: 16, rope_head_dim: 8, value_head_dim: 16}, "
                   "indexer: {heads: 2, head_dim: 16, top_k: 8}}");
             }),
             Contains("sparse latent attention has no gate"));
}
