#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/calls.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using config::test::error_of;
using workload::AttentionPairs;
using workload::LayerKind;
using workload::Part;

// Models of 64 elements with sequences of 256 tokens: latent attention of 8 heads with keys of 8 +
// 4 and values of 8 elements, from vectors of 16, and indexers of 2 heads of 16 that choose 64
// keys; compressed attention of 8 heads of 16 with a window of 32 tokens and indexers that choose 8
// of the 64 compressed keys.
namespace {

const std::string rest =
    ", hidden: 64, heads: 8, ffn: 128, norm: rmsnorm, biases: false, vocabulary: 1000, "
    "sequence: 256";

config::Model latent_model(const std::string& pattern, const std::string& indexer) {
  return model_of("{pattern: '" + pattern + "'" + rest +
                  ", latent: {query_rank: 24, kv_rank: 16, nope_head_dim: 8, rope_head_dim: 4, "
                  "value_head_dim: 8}, indexer: {heads: 2, head_dim: 16" +
                  indexer + "}}");
}

config::Model compressed_model(const std::string& pattern, const std::string& keys = "") {
  return model_of("{pattern: '" + pattern + "'" + rest +
                  ", head_dim: 16, sliding_window: 32, compressed: {query_rank: 24, "
                  "output_rank: 4, output_groups: 2, ratio: 4, heavy_ratio: 16}, "
                  "indexer: {heads: 2, head_dim: 16, top_k: 8}" +
                  keys + "}");
}

workload::Layer layer_of(const config::Model& model, LayerKind kind, double samples = 1,
                         double sequence = 256) {
  return layer_on_gpu(model, kind, workload::uncut_sizes(model, samples, sequence));
}

double flops_of(const std::vector<workload::Linear>& linears, Part first, Part last) {
  double flops = 0;
  for (const workload::Linear& linear : linears)
    if (first <= linear.part && linear.part <= last) flops += linear.flops();
  return flops;
}

workload::Kernel kernel_named(const std::vector<workload::Kernel>& kernels, std::string_view name,
                              Part part) {
  const auto match = std::ranges::find_if(kernels, [&](const workload::Kernel& kernel) {
    return kernel.name == name && kernel.part == part;
  });
  REQUIRE(match != kernels.end());
  return *match;
}

double gathered(const config::Model& model, const workload::StageTraffic& traffic) {
  double bytes = 0;
  for (const workload::Call& call : traffic[schedules::PassKind::forward])
    if (call.group == workload::Group::cp) bytes += static_cast<double>(call.bytes) * call.times;
  return bytes / model.layers;
}

double gathered(const config::Model& model) {
  const SettingFixture fixture(model, "{}", {.cp = 2});
  const config::Gpu gpu;
  return gathered(model, stage_calls(fixture.setting, {.layers = {0, model.layers}}, gpu, {}));
}

}  // namespace

TEST_CASE("a query of sparse attention sees the keys that its indexer chooses", "[model][sparse]") {
  const config::Model model = latent_model("D+", ", top_k: 64");
  for (const LayerKind kind : {LayerKind::indexed_attention, LayerKind::latent_attention}) {
    const workload::Layer layer = layer_of(model, kind);
    // Without an indexer of its own, a layer uses the choice of an earlier one.
    CHECK(attention_pairs(layer.attention, 256, AttentionPairs::causal) ==
          64.0 * 256 - 64 * 64 / 2);
    // Queries and results have the size of the compressed vectors, which all heads share.
    CHECK(layer.attention.query_size() == 256.0 * 8 * (16 + 4));
    CHECK(layer.attention.key_size() + layer.attention.value_size() == 256.0 * (16 + 4));
    CHECK(layer.attention.result_size() == 256.0 * 8 * 16);
  }
  const double pairs = 64.0 * 256 - 64 * 64 / 2;
  const double attention = 2 * 8 * pairs * (20 + 16);
  CHECK(workload::score_flops(model, 1, 256) == 2 * attention + 2 * (256.0 * 256 / 2) * 2 * 16);
  // The numbers of parameters and the products of the heads are those of attention to all keys.
  config::Model full = model;
  full.indexer.reset();
  CHECK(flops_of(layer_of(model, LayerKind::latent_attention).attention_linears, Part::qkv,
                 Part::projection) ==
        flops_of(layer_of(full, LayerKind::latent_attention).attention_linears, Part::qkv,
                 Part::projection));
  // A document that is no longer than the choice sees all of its keys.
  CHECK(
      layer_of(latent_model("D", ", top_k: 256"), LayerKind::indexed_attention).attention.key_dim ==
      12);
}

TEST_CASE("an indexer scores all keys, chooses some and learns from attention", "[model][sparse]") {
  const config::Model model = latent_model("D", ", top_k: 64");
  const SettingFixture fixture(model, "{}", {});
  const auto kernels = layer_kernels(fixture.setting, LayerKind::indexed_attention);
  const double scores = 256.0 * 256 / 2;
  const double chosen = 256.0 * 64;
  const auto forward = [&](std::string_view name) {
    return kernel_named(kernels.forward, name, Part::index_scores);
  };
  CHECK(forward("scores").flops == 2 * scores * 2 * 16);
  CHECK(forward("top-k").bytes == 4 * (2 * scores + chosen));
  CHECK(forward("target").flops == 2 * chosen * 8 * 20);
  CHECK(forward("gradient").flops == 3 * 2 * chosen * 2 * 16);
  // Of each of 8 queries and of the key, 4 elements are rotated, read and written in 2 bytes.
  CHECK(kernel_named(kernels.forward, "rotary", Part::rotary).bytes == 4 * 256.0 * (8 + 1) * 4);
  // The products of the indexer give no gradients to their inputs.
  const auto indexers = [](const std::vector<workload::Kernel>& pass) {
    return std::ranges::count(pass, Part::indexer, &workload::Kernel::part);
  };
  CHECK(indexers(kernels.forward) == 2);
  CHECK(indexers(kernels.input_grad) == 0);
  CHECK(indexers(kernels.weight_grad) == 2);
  // A loss over all keys has a target for each of them; without a loss nothing trains the indexer.
  const SettingFixture all(latent_model("D", ", top_k: 64, loss: all"), "{}", {});
  const auto of_all = layer_kernels(all.setting, LayerKind::indexed_attention);
  CHECK(kernel_named(of_all.forward, "target", Part::index_scores).flops == 2 * scores * 8 * 20);
  const SettingFixture none(latent_model("D", ", top_k: 64, loss: none"), "{}", {});
  const auto of_none = layer_kernels(none.setting, LayerKind::indexed_attention);
  CHECK(indexers(of_none.weight_grad) == 0);
  // The layer saves the choice, and the gradients of the indexer's queries, key and weights.
  CHECK(layer_bytes(fixture.setting, LayerKind::indexed_attention).held -
            layer_bytes(fixture.setting, LayerKind::latent_attention).held ==
        4 * chosen + 2 * 256.0 * (2 * 16 + 16 + 2));
  CHECK(layer_bytes(fixture.setting, LayerKind::indexed_attention).held -
            layer_bytes(none.setting, LayerKind::indexed_attention).held ==
        2 * 256.0 * (2 * 16 + 16 + 2));
}

TEST_CASE("context parallelism gathers the keys of sparse attention", "[model][sparse]") {
  // Each of two ranks has 128 tokens; keys of 20 and index keys of 16 elements take 2 bytes.
  CHECK(gathered(latent_model("D", ", top_k: 64")) == 256.0 * 2 * (20 + 16));
  CHECK(gathered(latent_model("+", ", top_k: 64")) == 256.0 * 2 * 20);
  // Of compressed keys, one for 4 tokens with its index key, or one for 16.
  CHECK(gathered(compressed_model("W")) == 0);
  CHECK(gathered(compressed_model("I")) == 256.0 / 4 * 2 * (16 + 16));
  CHECK(gathered(compressed_model("H")) == 256.0 / 16 * 2 * 16);
}

TEST_CASE("compressed attention sees a window and compressed keys", "[model][sparse]") {
  const config::Model model = compressed_model("WIH");
  const auto pairs = [&](LayerKind kind) {
    return attention_pairs(layer_of(model, kind).attention, 256, AttentionPairs::causal);
  };
  const double window = 32.0 * 256 - 32 * 32 / 2;
  CHECK(pairs(LayerKind::window_attention) == window);
  CHECK(pairs(LayerKind::compressed_attention) == window + 8 * 256);
  // A query sees the keys of the groups of 16 tokens that end with it or before it: none of the
  // first 15 queries, 1 of the next 16, and so on up to 15, and all 16 of the last query.
  CHECK(pairs(LayerKind::heavy_attention) == window + 16 * (15 * 16 / 2) + 16);

  // From 64 to queries of 24 and their norm, from these to 8 heads of 16; one key with its norm;
  // from 4 heads to each of 2 results of 4, and from these to 64; the norm of the layer.
  constexpr std::uint64_t products =
      64 * 24 + 24 + 24 * 128 + 64 * 16 + 16 + 2 * 64 * 4 + 2 * 4 * 64;
  constexpr std::uint64_t vocabulary = 2ULL * 1000 * 64 + 64;
  const auto parameters = [&](const std::string& pattern) {
    return workload::parameter_count(compressed_model(pattern)) - vocabulary - 64;
  };
  CHECK(parameters("W") == products);
  // Numbers and weights of each token's key, positions in its group, and a norm.
  CHECK(parameters("H") == products + 64 * 2 * 16 + 16 * 16 + 16);
  // Keys of 4 tokens overlap, so tokens have two numbers and weights for each element, also those
  // of the indexer, which has queries from 24 and weights from 64, too.
  CHECK(parameters("I") == products + 2 * (64 * 4 * 16 + 4 * 2 * 16 + 16) + 24 * 32 + 64 * 2);

  const SettingFixture fixture(model, "{}", {});
  const auto kernels = layer_kernels(fixture.setting, LayerKind::heavy_attention);
  // Pooling reads a number and a weight of each token and element, and writes a key of 16 tokens.
  CHECK(kernel_named(kernels.forward, "pool", Part::compressor).bytes ==
        2 * (256.0 * 2 * 16 + 16 * 16));
  CHECK_THAT(error_of([] { model_of("{pattern: I" + rest + ", sliding_window: 8}"); }),
             Catch::Contains("type I, which need the key indexer"));
  CHECK_THAT(error_of([] { model_of("{pattern: H" + rest + ", sliding_window: 8}"); }),
             Catch::Contains("type H, which need the key compressed"));
  CHECK_THAT(error_of([] {
               model_of("{pattern: W" + rest +
                        ", sliding_window: 8, compressed: {query_rank: 8, output_rank: 8, "
                        "output_groups: 3}}");
             }),
             Catch::Contains("output_groups is 3, which does not divide the 8 heads"));
}

TEST_CASE("hyper-connections mix residual streams", "[model][sparse]") {
  const auto model = [](const std::string& streams) {
    return model_of("{layers: 2" + rest + streams + "}");
  };
  const config::Model one = model("");
  const config::Model four = model(", residual_streams: 4");
  // Around attention and MLP of both layers, a product from 4 x 64 to 4 + 4 + 16 weights with a
  // bias and three scales; at the end a weight of each stream with a bias and a scale.
  CHECK(workload::parameter_count(four) - workload::parameter_count(one) ==
        4ULL * (24 * (256 + 1) + 3) + 4 * (256 + 1) + 1);
  CHECK(layer_flops(four, LayerKind::dense, 1, 256) - layer_flops(one, LayerKind::dense, 1, 256) ==
        2 * 2 * 256.0 * 256 * 24);
  // A layer saves three more hidden states at its start and before its MLP, the input and the
  // result of attention and of the MLP, and two sets of weights of each in 4 bytes.
  const auto held = [](const config::Model& m, const std::string& training) {
    const SettingFixture fixture(m, training, {});
    return layer_bytes(fixture.setting, LayerKind::dense).held;
  };
  constexpr double state = 2.0 * 256 * 64;
  CHECK(held(four, "{}") - held(one, "{}") == (2 * 3 + 2 * 2) * state + 2 * 2 * 4 * 24 * 256.0);
  // Recomputation of streams frees those between attention and MLP, and the inputs of both.
  CHECK(held(four, "{}") - held(four, "{recompute: {modules: [mhc]}}") == (4 + 2) * state);
  const SettingFixture fixture(four, "{}", {});
  const auto kernels = layer_kernels(fixture.setting, LayerKind::dense);
  CHECK(kernel_named(kernels.forward, "aggregate", Part::streams).bytes == (4 + 1) * state);
  CHECK(kernel_named(kernels.forward, "mix", Part::streams).bytes == (2 * 4 + 1) * state);
  CHECK(kernel_named(kernels.input_grad, "mix", Part::streams).bytes == (3 * 4 + 2) * state);
}

TEST_CASE("sparse attention of GLM-5 has fewer FLOP for long sequences", "[model][sparse]") {
  config::Model sparse = library_model("glm-5");
  sparse.mtp_layers = 1;
  config::Model full = sparse;
  full.indexer.reset();
  constexpr double sequence = 131'072;
  const auto per_token = [&](const config::Model& model) {
    return 3 * workload::forward_flops(model, 1, sequence) / sequence;
  };
  CHECK(per_token(full) == Approx(1267e9).epsilon(0.001));
  // Each of 79 layers has 2,048 keys of 576 and values of 512 elements per query instead of 65,536
  // of 256, and an indexer of 32 heads of 128 with products for all keys.
  const double keys = 2048 - 2048.0 * 2048 / 2 / sequence;
  const double saved = 2 * 64 * (sequence / 2 * 512 - keys * (576 + 512));
  const double indexer = 2 * 32 * 128 * sequence / 2 + 2.0 * (2048 * 32 * 128 + 6144 * (128 + 32));
  CHECK(per_token(full) - per_token(sparse) == Approx(3 * 79 * (saved - indexer)));
}

// The counts are those of a published program (AMD-AGI/Primus, deepseek_v4_flops_patches.py), whose
// residual streams lie along the sequence: all layers work on 4 x 4,096 tokens of each of 64
// samples, hyper-connections and logits on 4,096. Its 16 layers have 3 windows, 7 indexers and 6
// heavily compressed keys.
TEST_CASE("FLOP of DeepSeek-V4 Flash are those of a published count", "[model][sparse]") {
  const config::Model model = library_model("deepseek-v4-flash");
  constexpr double samples = 64;
  constexpr double sequence = 4 * 4096;
  constexpr LayerKind window = LayerKind::window_experts;
  constexpr LayerKind compressed = LayerKind::compressed_experts;
  constexpr LayerKind heavy = LayerKind::heavy_experts;
  const auto sum = [&](const auto& of_layer) {
    return 3e-12 * (3 * of_layer(window) + 7 * of_layer(compressed) + 6 * of_layer(heavy));
  };
  const auto products = [&](Part first, Part last) {
    return sum([&](LayerKind kind) {
      return flops_of(linears_of(layer_of(model, kind, samples, sequence)), first, last);
    });
  };
  const double attention =
      products(Part::qkv, Part::mla_up) + products(Part::projection, Part::projection);
  CHECK(attention == Approx(10'766.4).epsilon(1e-5));
  CHECK(products(Part::compressor, Part::compressor) == Approx(527.8).epsilon(1e-4));
  CHECK(products(Part::router, Part::shared_out) == Approx(17'838.5).epsilon(1e-5));
  CHECK(3e-12 * workload::head_flops(model, samples, 4096) == Approx(832.9).epsilon(1e-4));
  const double scores = sum([&](LayerKind kind) {
    const workload::Attention a = layer_of(model, kind, samples, sequence).attention;
    return 2 * samples * 64 * 2 * 512 * attention_pairs(a, sequence, AttentionPairs::causal);
  });
  CHECK(scores == Approx(2'476.0).epsilon(1e-4));
  // The program's indexer makes its queries from vectors of 128 instead of those of attention.
  const double indexers = sum([&](LayerKind kind) {
    const workload::Indexing indexing = layer_of(model, kind, samples, sequence).indexing;
    if (indexing.heads == 0) return 0.0;
    return 2 * index_pairs(indexing, AttentionPairs::causal) * 64 * 128 +
           2 * samples * sequence * (4096.0 * (128 + 64 + 512) + 128 * 64 * 128);
  });
  CHECK(indexers == Approx(1'650.9).epsilon(1e-4));

  // A whole layer: the routers, and hyper-connections of 4,096 tokens instead of 16,384.
  const double difference = 2 * sequence * 4096 * 256 - (sequence - 4096) * 2 * 2 * 24 * 16'384;
  const auto layer = [&](LayerKind kind) {
    return 3 * (layer_flops(model, kind, 1, sequence) + difference);
  };
  CHECK(layer(window) == Approx(28'775'232'307'200).epsilon(2e-6));
  CHECK(layer(heavy) == Approx(29'596'695'134'208).epsilon(2e-6));
  const double queries = 3 * 2 * sequence * (1024.0 * 8192 - 4096 * 128 - 128 * 8192);
  CHECK(layer(compressed) - queries == Approx(36'583'482'851'328).epsilon(2e-6));
}
