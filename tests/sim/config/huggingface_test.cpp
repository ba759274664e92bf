#include <random>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/model.hpp"
#include "support/paths.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

using Catch::Contains;

Model model_at(const std::string& path) {
  const Value text = make_text(path, {});
  return read_model({text, "model"});
}

Model fixture(const std::string& name) {
  return model_at(PIPEWRIGHT_TEST_DATA "/models/" + name + "/config.json");
}

// A small config.json with additional keys.
std::string config_of(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 8,
"num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 1024)" +
         (more.empty() ? "" : ", " + more) + "}";
}

Model model_of(const std::string& type, const std::string& more) {
  const Folder folder;
  return model_at(folder.write("tiny/config.json", config_of(type, more)));
}

std::string fault_of(const std::string& type, const std::string& more) {
  return error_of([&] { model_of(type, more); });
}

// "(S-)(S-)(*-)"
std::string pattern_of(const Model& model) {
  std::string text;
  for (const std::string& layer : model.pattern)
    text += layer.size() == 1 ? layer : "(" + layer + ")";
  return text;
}

TEST_CASE("the config.json of a dense model is read, including nulls", "[model][huggingface]") {
  const Model m = fixture("small-dense");
  CHECK(m.name == "small-dense");
  CHECK(m.layers == 4);
  CHECK(m.hidden == 256);
  CHECK(m.heads == 8);
  CHECK(m.kv_heads == 2);
  CHECK(m.head_dim == 32);
  CHECK(m.ffn == 512);
  CHECK(m.gated);
  CHECK(m.norm == Model::Norm::rmsnorm);
  CHECK(m.biases == Model::Biases::none);
  CHECK_FALSE(m.tied_embeddings);
  CHECK_FALSE(m.experts);
}

TEST_CASE("the sequence is assumed, limited by the positions", "[model][huggingface]") {
  const Model m = fixture("small-dense");
  CHECK(m.sequence == 4096);
  REQUIRE(m.notes.size() == 1);
  CHECK_THAT(m.notes[0], Contains("sequence: 4096 is assumed") && Contains("131072"));
  CHECK(model_of("llama", R"("num_hidden_layers": 2)").sequence == 1024);
}

TEST_CASE("latent attention, groups of experts and multi-token prediction are read",
          "[model][huggingface]") {
  const Model m = fixture("small-mixture");
  REQUIRE(m.latent);
  CHECK(m.latent->query_rank == 48);
  CHECK(m.latent->kv_rank == 32);
  CHECK(m.latent->nope_head_dim == 16);
  CHECK(m.latent->rope_head_dim == 8);
  CHECK(m.latent->value_head_dim == 16);
  REQUIRE(m.experts);
  CHECK(m.experts->count == 8);
  CHECK(m.experts->top_k == 2);
  CHECK(m.experts->ffn == 64);
  CHECK(m.experts->shared == 1);
  CHECK(m.experts->groups == 4);
  CHECK(m.experts->top_groups == 2);
  CHECK(m.experts->first_dense == 1);
  CHECK(m.ffn == 384);
  CHECK(m.mtp_layers == 1);
  std::string notes;
  for (const std::string& note : m.notes) notes += note + "\n";
  CHECK_THAT(notes,
             Contains("mtp_layers: the parameters include the module of multi-token prediction") &&
                 Contains("quantization_config: format"));
}

TEST_CASE("a vision model gives its text part with the defaults of its family",
          "[model][huggingface]") {
  const Model m = fixture("small-vision");
  CHECK(m.hidden == 128);
  CHECK(m.layers == 8);
  CHECK(m.tied_embeddings);
  CHECK(m.post_norms);
  CHECK(m.qk_layernorm);
  CHECK(m.sliding_window == 1024);
  CHECK(m.full_attention_every == 6);
  CHECK_THAT(m.notes.back(), Contains("vision_config: a run has the encoder of images only with"));
  // An image of 896 pixels has 64 x 64 patches, of which 4 x 4 are averaged for each of 256 tokens.
  const Model::Vision& vision = m.vision.value();
  CHECK(vision.layers == 27);
  CHECK(vision.hidden == 1152);
  CHECK(vision.heads == 12);  // default of SiglipVisionConfig
  CHECK(vision.ffn == 3072);
  CHECK(vision.positions == 64 * 64);
  CHECK(vision.projector.averages);
  CHECK(vision.projector.merge == 4);
  CHECK(vision.projector.ffn == 0);
  // A key that is missing gets the default of transformers' configuration class for Gemma 3.
  const Model bare = model_of("gemma3_text", R"("num_hidden_layers": 2)");
  CHECK(bare.head_dim == 256);
}

TEST_CASE("the pattern of a hybrid and latent experts are read", "[model][huggingface]") {
  const Model m = fixture("small-hybrid");
  CHECK(pattern_of(m) == "ME*E-");
  CHECK_FALSE(m.gated);
  REQUIRE(m.mamba);
  CHECK(m.mamba->heads == 16);
  CHECK(m.mamba->head_dim == 16);
  CHECK(m.mamba->groups == 2);
  CHECK(m.mamba->state == 32);
  CHECK(m.experts->latent == 64);
  CHECK(m.experts->shared_ffn == 192);
  CHECK(m.expert_width() == 64);
  CHECK(pattern_of(model_of("nemotron_h", R"("layers_block_type": ["mamba", "mlp", "attention"],
"mamba_num_heads": 8, "n_groups": 1)")) == "M-*");
}

TEST_CASE("biases follow the family or the config", "[model][huggingface]") {
  const std::string layers = R"("num_hidden_layers": 2)";
  using Biases = Model::Biases;
  CHECK(model_of("qwen2", layers).biases == Biases::qkv);
  CHECK(model_of("glm4_moe", layers + R"(, "attention_bias": true)").biases == Biases::qkv);
  CHECK(model_of("llama", layers + R"(, "attention_bias": true)").biases == Biases::attention);
  CHECK(model_of("llama", layers + R"(, "attention_bias": true, "mlp_bias": true)").biases ==
        Biases::all);
  CHECK(model_of("qwen3", layers).biases == Biases::none);
  CHECK_THAT(fault_of("llama", layers + R"(, "mlp_bias": true)"),
             Contains("mlp_bias is true without attention_bias"));
}

TEST_CASE("sliding windows follow the rule of the family or a list", "[model][huggingface]") {
  const auto four = [](const std::string& type, const std::string& more) {
    return model_of(type, R"("num_hidden_layers": 4, "sliding_window": 32)" + more);
  };
  CHECK(four("gpt_oss", R"(, "num_local_experts": 4, "num_experts_per_tok": 2)")
            .full_attention_every == 2);
  CHECK(four("mistral", "").sliding_window == 32);
  CHECK(four("mistral", "").full_attention_every == 0);
  CHECK(four("qwen3", "").sliding_window == 0);  // use_sliding_window is false
  CHECK(model_of("mistral", R"("num_hidden_layers": 4, "sliding_window": null)").sliding_window ==
        0);
  CHECK(pattern_of(four("qwen3", R"(, "use_sliding_window": true, "max_window_layers": 3)")) ==
        "(*-)(*-)(*-)(S-)");
  const Model listed = four("qwen3", R"(, "layer_types": ["sliding_attention", "full_attention",
"sliding_attention", "full_attention"])");
  CHECK(listed.full_attention_every == 2);
  CHECK(pattern_of(listed).empty());
  CHECK(pattern_of(four("qwen3", R"(, "layer_types": ["full_attention", "sliding_attention",
"sliding_attention", "full_attention"])")) == "(*-)(S-)(S-)(*-)");
  const Model chunked = model_of("llama4", R"("num_hidden_layers": 4, "num_local_experts": 4,
"num_experts_per_tok": 1, "intermediate_size_mlp": 96, "attention_chunk_size": 256)");
  CHECK(chunked.chunked);
  CHECK(chunked.sliding_window == 256);
  CHECK(chunked.full_attention_every == 4);
}

TEST_CASE("experts are in the layers that a config names", "[model][huggingface]") {
  const auto six = [](const std::string& type, const std::string& more) {
    return model_of(type, R"("num_hidden_layers": 6, "num_experts": 4, "num_experts_per_tok": 2,
"moe_intermediate_size": 32)" +
                              more);
  };
  CHECK(six("qwen3_moe", "").experts->every == 1);
  CHECK(six("qwen3_moe", R"(, "decoder_sparse_step": 2)").experts->every == 2);
  CHECK(six("qwen3_moe", R"(, "mlp_only_layers": [0, 1])").experts->first_dense == 2);
  CHECK(pattern_of(six("qwen3_moe", R"(, "mlp_only_layers": [3])")) == "(*E)(*E)(*E)(*-)(*E)(*E)");
  CHECK(six("glm4_moe", R"(, "first_k_dense_replace": 1)").experts->first_dense == 1);
  const Model listed = six("glm4_moe", R"(, "mlp_layer_types": ["dense", "dense", "sparse",
"sparse", "sparse", "sparse"])");
  CHECK(listed.experts->first_dense == 2);
  CHECK(six("qwen2_moe", R"(, "shared_expert_intermediate_size": 96)").experts->shared_ffn == 96);
  const Model llama = model_of("llama4", R"("num_hidden_layers": 6, "num_local_experts": 4,
"num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 96)");
  CHECK(llama.experts->every == 2);
  CHECK(llama.experts->ffn == 128);  // intermediate_size
  CHECK(llama.experts->shared == 1);
  CHECK(llama.ffn == 96);
}

TEST_CASE("three of four layers are gated delta nets, with an output gate",
          "[model][huggingface]") {
  const Model m = model_of("qwen3_next", R"("num_hidden_layers": 4, "num_experts": 4,
"num_experts_per_tok": 2, "moe_intermediate_size": 32, "linear_num_key_heads": 2,
"linear_num_value_heads": 4, "shared_expert_intermediate_size": 32)");
  CHECK(pattern_of(m) == "(GE)(GE)(GE)(*E)");
  CHECK(m.output_gate);
  CHECK(m.linear_attention->value_heads == 4);
}

TEST_CASE("a model of Mamba-2 layers needs no attention", "[model][huggingface]") {
  const Folder folder;
  const Model m = model_at(folder.write("m/config.json", R"({"model_type": "mamba2",
"hidden_size": 64, "num_hidden_layers": 3, "num_heads": 8, "head_dim": 16, "n_groups": 1,
"state_size": 32, "expand": 2, "vocab_size": 1000, "tie_word_embeddings": true})"));
  CHECK(pattern_of(m) == "MMM");
  CHECK(m.mamba->head_dim == 16);
  CHECK(m.tied_embeddings);
}

TEST_CASE("the key names of GPT-2 are understood", "[model][huggingface]") {
  const Folder folder;
  const Model m = model_at(folder.write("gpt/config.json", R"({"model_type": "gpt2",
"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256, "n_ctx": 256, "vocab_size": 1000,
"resid_pdrop": 0.1, "attn_pdrop": 0.1, "embd_pdrop": 0.1, "layer_norm_epsilon": 1e-5,
"summary_first_dropout": 0.1})"));
  CHECK(m.ffn == 256);
  CHECK(m.learned_positions);
  CHECK(m.sequence == 256);
  CHECK(m.dropout == 0.1);
  CHECK(m.biases == Model::Biases::all);
  CHECK(m.tied_embeddings);
}

TEST_CASE("an unknown key that may matter is refused with its place", "[model][huggingface]") {
  const std::string layers = R"("num_hidden_layers": 2)";
  CHECK_THAT(fault_of("llama", layers + R"(, "block_dim": 2048)"),
             Contains("config.json:2:") &&
                 Contains("'block_dim' is a key of config.json that is not understood"));
  CHECK_THAT(fault_of("llama", layers + R"(, "num_global_key_value_heads": 4)"),
             Contains("'num_global_key_value_heads'"));
  CHECK_THAT(fault_of("llama", R"("hidden_act": "silu")"),
             Contains("num_hidden_layers is missing"));
  CHECK_THAT(fault_of("llama", R"("num_hidden_layers": "two")"),
             Contains("num_hidden_layers is the text 'two'"));
  CHECK_THAT(fault_of("llama", layers + R"(, "head_dim": 7, "num_experts": 4)"),
             Contains("num_experts_per_tok"));
  CHECK_THAT(fault_of("qwen3", layers + R"(, "layer_types": ["full_attention", "retention"])"),
             Contains("layer_types has a layer 'retention', which is not understood; allowed: "
                      "full_attention"));
  CHECK_THAT(fault_of("nemotron_h", layers + R"(, "hybrid_override_pattern": "MX")"),
             Contains("hybrid_override_pattern is the text 'MX'"));
  // Keys are ignored if they are switched off, or concern text generation, positions or initial
  // values.
  CHECK(fault_of("llama", layers + R"(, "num_experts": 0, "block_size": null, "top_k": 50,
"some_dim": 0, "rope_head_dim_scaling": {"a": 1}, "num_beam_groups": 1, "embd_pdrop": 0.1,
"_attn_implementation": "eager", "moe_layers": [])") == "");
}

TEST_CASE("an unknown type is refused with its missing parts, and only misspelt ones are corrected",
          "[model][huggingface]") {
  const std::string layers = R"("num_hidden_layers": 2)";
  for (const auto& [typed, meant] : {std::pair{"lama", "llama"},
                                     {"qwen3-moe", "qwen3_moe"},
                                     {"deepseek-v3", "deepseek_v3"},
                                     {"Mixtral", "mixtral"}})
    CHECK_THAT(fault_of(typed, layers), Contains(fmt::format("did you mean '{}'?", meant)));
  // Another number is another generation, and other words are another model.
  for (const char* const other : {"llama9", "deepseek_v5", "minimax_m4", "qwen4", "gemma5",
                                  "nemotron9", "glm5_moe", "deepseek"}) {
    CAPTURE(other);
    CHECK_THAT(fault_of(other, layers),
               Contains(fmt::format("model_type '{}' is not understood; allowed: arcee", other)));
  }
  CHECK_THAT(fault_of("kimi_k3", layers + R"(, "attn_res_block_size": 12)"),
             Contains("model_type 'kimi_k3' is not understood: it has parts that are not modelled, "
                      "attention residuals (attn_res_block_size); allowed: "));
  // A part that is switched off is not missing.
  CHECK_THAT(fault_of("kimi_k3", layers + R"(, "attn_res_block_size": 0)"),
             Contains("'kimi_k3' is not understood; allowed"));
  CHECK_THAT(fault_of("qwen3", layers + R"(, "index_topk": 2048, "attn_res_block_size": 12)"),
             Contains("config.json:2:") &&
                 Contains("config.json has parts that are not modelled: attention residuals "
                          "(attn_res_block_size), sparse attention (index_topk)"));
  CHECK_THAT(fault_of("minimax_m2", layers + R"(, "sparse_attention_config": {"a": 1})"),
             Contains("sparse attention (sparse_attention_config)"));
}

TEST_CASE("an unknown key without a size in its name is noted", "[model][huggingface]") {
  const Model m = model_of("llama", R"("num_hidden_layers": 2, "alibi": true, "use_mla": true,
"bos_token_id": 1, "initializer_range": 0.02, "multi_query": false, "rope_theta": 10000.0,
"hidden_act": "silu", "torch_dtype": "bfloat16", "use_cache": true, "architectures": ["x"])");
  REQUIRE(m.notes.size() == 2);
  CHECK(m.notes[1] ==
        "alibi, use_mla: not known in config.json, and taken to change neither time "
        "nor memory");
}

TEST_CASE("a number may be a list that is the same for every layer", "[model][huggingface]") {
  const std::string layers = R"("num_hidden_layers": 2, "head_dim": )";
  CHECK(model_of("llama", layers + "[16, 16]").head_dim == 16);
  CHECK_THAT(fault_of("llama", layers + "[16, 8]"),
             Contains("head_dim differs from layer to layer, which is not modelled"));
  CHECK_THAT(fault_of("llama", layers + R"(["x", "x"])"), Contains("head_dim is the text 'x'"));
  CHECK_THAT(fault_of("llama", layers + "[]"), Contains("head_dim is an empty list"));
}

TEST_CASE("hybrids name the mixer of each layer", "[model][huggingface]") {
  const std::string mamba = R"("mamba_n_heads": 8, "mamba_d_head": 16, "mamba_n_groups": 1)";
  CHECK(pattern_of(model_of("granitemoehybrid", mamba + R"(, "layer_types": ["mamba", "attention"],
"num_local_experts": 4, "num_experts_per_tok": 2)")) == "(ME)(*E)");
  CHECK(pattern_of(model_of("falcon_h1", mamba + R"(, "num_hidden_layers": 2)")) == "(P-)(P-)");
  CHECK(pattern_of(model_of("lfm2", R"("num_hidden_layers": 3, "conv_L_cache": 3,
"full_attn_idxs": [1])")) == "(C-)(*-)(C-)");
  CHECK(pattern_of(model_of("jamba", R"("num_hidden_layers": 4, "attn_layer_period": 2,
"attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 0, "num_experts": 4,
"num_experts_per_tok": 2)")) == "(ME)(*-)(ME)(*-)");
  CHECK_THAT(fault_of("granitemoehybrid", mamba + R"(, "layer_types": ["mamba", "rwkv"])"),
             Contains("layer_types has a layer 'rwkv', which is not understood; allowed: "
                      "attention, full_attention, mamba, conv"));
  CHECK_THAT(fault_of("lfm2", R"("num_hidden_layers": 3, "conv_L_cache": 3)"),
             Contains("layer_types is missing in config.json"));
  CHECK_THAT(fault_of("kimi_linear", R"("num_hidden_layers": 3)"),
             Contains("linear_attn_config is missing in config.json"));
  CHECK_THAT(fault_of("kimi_linear", R"("num_hidden_layers": 3, "linear_attn_config": {"head_dim":
8, "num_heads": 2, "short_conv_kernel_size": 4})"),
             Contains("kda_layers is missing"));
  CHECK_THAT(fault_of("kimi_linear", R"("num_hidden_layers": 1, "linear_attn_config": {"head_dim":
8, "num_heads": 2, "kda_layers": [1], "state_size": 4})"),
             Contains("'state_size' is a key of config.json that is not understood"));
  CHECK_THAT(fault_of("gemma4", R"("num_hidden_layers": 6, "use_bidirectional_attention": "all")"),
             Contains("attention without a causal mask is not modelled; allowed: vision"));
}

TEST_CASE("a model is found by its file or its folder and named after them",
          "[model][huggingface]") {
  const Folder folder;
  const std::string file =
      folder.write("Tiny-1B/config.json", config_of("llama", R"("num_hidden_layers": 2)"));
  CHECK(model_at(file).name == "Tiny-1B");
  CHECK(model_at((folder.path() / "Tiny-1B").string()).name == "Tiny-1B");
  const std::string cached = folder.write("models--acme--Big-7B/snapshots/0123abcd/config.json",
                                          config_of("llama", R"("num_hidden_layers": 2)"));
  CHECK(model_at(cached).name == "Big-7B");
  const std::string named = folder.write(
      "x.json", config_of("llama", R"("num_hidden_layers": 2, "_name_or_path": "acme/Own-3B")"));
  CHECK(model_at(named).name == "Own-3B");
  CHECK_THAT(error_of([&] { model_at((folder.path() / "snapshots").string()); }),
             Contains("there is no file") && Contains("; allowed: the path of a model file"));
}

// Texts from which random configs are made: punctuation of JSON, and words of config.json files.
const std::vector<std::string> tokens{"{",
                                      "}",
                                      "[",
                                      "]",
                                      ",",
                                      ":",
                                      "null",
                                      "true",
                                      "\"\"",
                                      "-1",
                                      "0",
                                      "1",
                                      "64",
                                      "1e9",
                                      "0.5",
                                      "999999999999",
                                      "4294967296",
                                      "\"M\"",
                                      "\"llama4\"",
                                      "[]",
                                      "{}",
                                      "\"full_attention\"",
                                      "\"num_experts\": 4,",
                                      "\"layer_types\": [\"sliding_attention\"],",
                                      "\"kv_lora_rank\": 8,",
                                      "\"model_type\": \"qwen3_next\","};

TEST_CASE("no mutation of a config.json does worse than an error with a place",
          "[model][huggingface]") {
  const Folder folder;
  std::vector<std::string> seeds;
  for (const char* const name : {"small-dense", "small-mixture", "small-vision", "small-hybrid"}) {
    std::ifstream file(PIPEWRIGHT_TEST_DATA "/models/" + std::string(name) + "/config.json");
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    REQUIRE(seeds.back().size() > 100);
  }
  const std::string experts =
      R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, )";
  for (const auto& [type, keys] :
       {std::pair<std::string, std::string>{"granitemoehybrid", R"("layer_types":
["mamba", "attention"], "mamba_n_heads": 8, "mamba_d_head": "auto", "mamba_expand": 2,
"mamba_n_groups": 1, "num_hidden_layers": 2, "shared_intermediate_size": 32)"},
        {"kimi_linear", R"("linear_attn_config": {"kda_layers": [1], "full_attn_layers": [2],
"head_dim": 8, "num_heads": 8, "short_conv_kernel_size": 4}, "kv_lora_rank": 16,
"qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "num_hidden_layers": 2)"},
        {"lfm2", R"("block_ff_dim": 96, "block_ffn_dim_multiplier": 1.5, "conv_L_cache": 3,
"full_attn_idxs": [1], "num_hidden_layers": 2)"},
        {"jamba", R"("attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2,
"expert_layer_offset": 1, "num_hidden_layers": 4, "mamba_expand": 2)"},
        {"gemma4", R"("global_head_dim": 16, "attention_k_eq_v": true, "enable_moe_block": true,
"num_global_key_value_heads": 1, "num_hidden_layers": 6, "top_k_experts": 2)"},
        {"glm_moe_dsa", R"("kv_lora_rank": 16, "q_lora_rank": 16, "qk_nope_head_dim": 8,
"qk_rope_head_dim": 4, "v_head_dim": 8, "index_n_heads": 2, "index_topk": 64,
"index_topk_freq": 2, "index_skip_topk_offset": 1, "num_hidden_layers": 4)"}}) {
    seeds.push_back(config_of(type, (type == "lfm2" ? "" : experts) + keys));
    REQUIRE(model_at(folder.write("m/config.json", seeds.back())).layers > 0);
  }
  std::mt19937 random(7);
  int sound = 0;
  int faulty = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (auto n = 1 + random() % 3; n > 0; --n) {
      const std::size_t place = random() % text.size();
      const std::string& token = tokens[random() % tokens.size()];
      switch (random() % 3) {
        case 0:
          text.erase(place, random() % 30);
          break;
        case 1:
          text.insert(place, token);
          break;
        default:  // in place of a value
          if (const std::size_t colon = text.find(": ", place); colon != std::string::npos)
            text.replace(colon + 2, text.find_first_of(",\n", colon) - colon - 2, token);
      }
    }
    CAPTURE(text);
    const std::string path = folder.write("m/config.json", text);
    try {
      const Model model = model_at(path);
      REQUIRE(model.layers > 0);
      ++sound;
    } catch (const Error& error) {
      REQUIRE_THAT(error.what(), Contains("config.json") || Contains("model"));
      ++faulty;
    }
  }
  CHECK(sound > 200);
  CHECK(faulty > 200);
}

// Returns the encoder of a vision model whose language model has a hidden size of 128.
Model vision_model(const std::string& outer, const std::string& text, const std::string& vision) {
  const Folder folder;
  return model_at(folder.write(
      "tiny/config.json",
      "{" + outer + R"(, "text_config": {)" + text +
          R"("hidden_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4, )"
          R"("num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000}, )"
          R"("vision_config": {)" +
          vision + "}}"));
}

TEST_CASE("encoders of images have the shapes of their families", "[model][huggingface]") {
  const Model::Vision qwen25 =
      vision_model(R"("model_type": "qwen2_5_vl")", R"("model_type": "qwen2_5_vl_text", )",
                   R"("model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, )"
                   R"("intermediate_size": 3420, "num_heads": 16, "in_chans": 3, )"
                   R"("out_hidden_size": 128, "patch_size": 14, "spatial_merge_size": 2, )"
                   R"("spatial_patch_size": 14, "window_size": 112, )"
                   R"("fullatt_block_indexes": [7, 15, 23, 31], "temporal_patch_size": 2)")
          .vision.value();
  CHECK(qwen25.gated);
  CHECK(qwen25.norm == Model::Norm::rmsnorm);
  CHECK(qwen25.window == 64);
  CHECK(qwen25.full_attention_every == 8);
  CHECK(qwen25.projector.ffn == 4 * 1280);
  CHECK(qwen25.patch_elements() == 14 * 14 * 2 * 3);
  const Model::Vision qwen3 =
      vision_model(R"("model_type": "qwen3_vl")", R"("model_type": "qwen3_vl_text", )",
                   R"("model_type": "qwen3_vl", "depth": 27, "hidden_size": 1152, )"
                   R"("intermediate_size": 4304, "num_heads": 16, "patch_size": 16, )"
                   R"("deepstack_visual_indexes": [8, 16, 24], "num_position_embeddings": 2304, )"
                   R"("out_hidden_size": 128, "spatial_merge_size": 2)")
          .vision.value();
  CHECK(qwen3.rotary);
  CHECK(qwen3.positions == 2304);
  CHECK(qwen3.projector.count == 4);
  CHECK(qwen3.temporal_patch_size == 2);
  CHECK_FALSE(qwen3.gated);
  const Model::Vision gemma4 =
      vision_model(R"("model_type": "gemma4")",
                   R"("model_type": "gemma4_text", "hidden_size_per_layer_input": 0, )",
                   R"("model_type": "gemma4_vision", "hidden_size": 1152, "head_dim": 72, )"
                   R"("intermediate_size": 4304, "num_hidden_layers": 27, )"
                   R"("num_attention_heads": 16, "num_key_value_heads": 16, "patch_size": 16, )"
                   R"("pooling_kernel_size": 3, "position_embedding_size": 10240)")
          .vision.value();
  CHECK(gemma4.gated);
  CHECK(gemma4.qk_layernorm);
  CHECK(gemma4.projector.averages);
  CHECK(gemma4.projector.merge == 3);
  const Model::Vision llama4 =
      vision_model(R"("model_type": "llama4")",
                   R"("model_type": "llama4_text", "intermediate_size_mlp": 512, )"
                   R"("num_local_experts": 4, "num_experts_per_tok": 1, )",
                   R"("model_type": "llama4_vision_model", "hidden_size": 1408, )"
                   R"("num_hidden_layers": 34, "num_attention_heads": 16, "image_size": 336, )"
                   R"("intermediate_size": 5632, "patch_size": 14, "pixel_shuffle_ratio": 0.5, )"
                   R"("projector_input_dim": 4096, "projector_output_dim": 4096)")
          .vision.value();
  CHECK(llama4.projector.merge == 2);
  CHECK(llama4.projector.ffn == 4096);
  CHECK(llama4.positions == 24 * 24 + 1);
  const Model::Vision mistral =
      vision_model(R"("model_type": "mistral3", "spatial_merge_size": 2)",
                   R"("model_type": "mistral", )",
                   R"("model_type": "pixtral", "hidden_size": 1024, "head_dim": 64, )"
                   R"("intermediate_size": 4096, "num_hidden_layers": 24, )"
                   R"("num_attention_heads": 16, "patch_size": 14, "image_size": 1540)")
          .vision.value();
  CHECK(mistral.biases == Model::Biases::none);
  CHECK(mistral.projector.ffn == 128);
  const Model::Vision intern =
      vision_model(R"("model_type": "internvl", "downsample_ratio": 0.5)",
                   R"("model_type": "qwen2", )",
                   R"("model_type": "internvl_vision", "hidden_size": 1024, )"
                   R"("num_hidden_layers": 24, "num_attention_heads": 16, )"
                   R"("image_size": [448, 448], "patch_size": [14, 14], "attention_bias": true, )"
                   R"("intermediate_size": 4096, "use_absolute_position_embeddings": true)")
          .vision.value();
  CHECK(intern.positions == 32 * 32 + 1);
  CHECK(intern.projector.merge == 2);
  CHECK(intern.projector.ffn == 128);
  const Model unknown =
      vision_model(R"("model_type": "qwen3_vl")", R"("model_type": "qwen3_vl_text", )",
                   R"("model_type": "spectral_eye", "depth": 3)");
  CHECK_FALSE(unknown.vision);
  CHECK_THAT(unknown.notes.back(), Contains("vision_config: left out") &&
                                       Contains("an encoder of type 'spectral_eye' is not known") &&
                                       Contains("modules.vision.model"));
}

}  // namespace
}  // namespace pipewright::config::test
