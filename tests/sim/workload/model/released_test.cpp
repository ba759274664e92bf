#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "support/paths.hpp"
#include "tests/sim/workload/model/support.hpp"

// What released models have beside a Llama's layers: biases and norms in some places alone, layers
// of mixed kinds, experts of smaller vectors, attention within chunks.

using namespace pipewright;
using namespace pipewright::test;
using workload::LayerKind;
using workload::Part;

namespace {

const std::string small =
    "layers: 2, hidden: 64, heads: 8, kv_heads: 2, ffn: 128, mlp: swiglu, norm: rmsnorm, "
    "vocabulary: 1000, sequence: 256";

config::Model with(const std::string& more) { return model_of("{" + small + more + "}"); }

std::uint64_t count_of(const std::string& fixture) {
  return workload::parameter_count(
      library_model(PIPEWRIGHT_TEST_DATA "/models/" + fixture + "/config.json"));
}

double bytes_of(const std::vector<workload::Kernel>& kernels, Part part) {
  double bytes = 0;
  for (const workload::Kernel& kernel : kernels)
    if (kernel.part == part) bytes += kernel.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("the parameters of a config.json are those of its matrices and norms",
          "[model][huggingface]") {
  // Both vocabulary matrices; Q and the projection of 256 x 256, K and V of 256 x 64, an MLP of
  // three 256 x 512 and two norms in each of four layers; the last norm.
  CHECK(count_of("small-dense") ==
        2 * 1000 * 256 + 4 * (2 * 256 * 256 + 2 * 256 * 64 + 3 * 256 * 512 + 2 * 256) + 256);
  // Latent attention: queries down to 48 and up to 4 heads of 24, keys and values down to 32 and 8
  // and up to 4 heads of 16 + 16, the projection, norms of what is compressed and of the input.
  constexpr int latent = 128 * 48 + 48 + 48 * 4 * 24 + 128 * 40 + 32 + 32 * 4 * 32 + 64 * 128;
  // and the router
  constexpr int mixture = latent + 2 * 128 + 8 * 3 * 128 * 64 + 3 * 128 * 64 + 8 * 128;
  constexpr int dense = latent + 2 * 128 + 3 * 128 * 384;
  // A module of multi-token prediction has a layer, a projection of both inputs and three norms.
  CHECK(count_of("small-mixture") ==
        2 * 1000 * 128 + 128 + dense + 2 * mixture + (mixture + 2 * 128 * 128 + 3 * 128));
  // Gemma 3: four norms a layer and those of queries and keys, one vocabulary matrix.
  CHECK(count_of("small-vision") ==
        1000 * 128 + 128 + 8 * (2 * 128 * 128 + 2 * 128 * 64 + 2 * 32 + 3 * 128 * 512 + 4 * 128));
  // Nemotron-H's ME*E-: Mamba-2 of 16 heads of 16 in 2 groups with states of 32; experts of two
  // 64 x 96 between 128 x 64 and back, a shared one, a router; attention; an MLP of two matrices.
  constexpr int mamba = 128 * (256 + 384 + 16) + 256 * 128 + 384 * 5 + 3 * 16 + 256 + 128;
  constexpr int experts = 8 * 2 * 64 * 96 + 2 * 128 * 64 + 8 * 128 + 2 * 128 * 192 + 128;
  constexpr int attention = 2 * 128 * 128 + 2 * 128 * 64 + 128;
  CHECK(count_of("small-hybrid") ==
        2 * 1000 * 128 + 128 + mamba + 2 * experts + attention + 2 * 128 * 256 + 128);
}

TEST_CASE("biases count where a model has them", "[model]") {
  const std::uint64_t none = workload::parameter_count(with(", biases: false"));
  const auto more = [&](const std::string& biases) {
    return workload::parameter_count(with(", biases: " + biases)) - none;
  };
  CHECK(more("qkv") == 2 * (8 + 2 * 2) * 8);
  CHECK(more("attention") == 2 * ((8 + 2 * 2) * 8 + 64));
  CHECK(more("true") == 2 * ((8 + 2 * 2) * 8 + 64 + 2 * 128 + 64));
}

TEST_CASE("norms after attention and MLP have parameters, kernels and memory", "[model]") {
  const OwnSetting without(with(", biases: false"), "{}", {});
  const OwnSetting own(with(", biases: false, post_norms: true"), "{}", {});
  CHECK(workload::parameter_count(own.model) - workload::parameter_count(without.model) ==
        2 * 2 * 64);
  const workload::PassKernels kernels = layer_kernels(own.setting, LayerKind::dense);
  // Each reads and writes 256 tokens of 64 in 16 bits, and backward reads twice as much again.
  CHECK(bytes_of(kernels.forward, Part::post_norm) == 2 * 4.0 * 256 * 64);
  CHECK(bytes_of(kernels.input_grad, Part::post_norm) == 2 * 8.0 * 256 * 64);
  CHECK(kernels.forward.size() ==
        layer_kernels(without.setting, LayerKind::dense).forward.size() + 2);
  CHECK(layer_bytes(own.setting, LayerKind::dense).held -
            layer_bytes(without.setting, LayerKind::dense).held ==
        2 * 2.0 * 256 * 64);
}

TEST_CASE("two symbols in brackets are one layer of both", "[model][hybrid]") {
  const std::string sizes =
      ", hidden: 64, heads: 8, kv_heads: 2, ffn: 128, mlp: swiglu, norm: rmsnorm, biases: false, "
      "vocabulary: 1000, sequence: 256, sliding_window: 32, mamba: {heads: 4, groups: 2}, "
      "experts: {count: 4, top_k: 2, ffn: 32}}";
  const config::Model halves = model_of("{pattern: 'S-MEM-*E'" + sizes);
  const config::Model whole = model_of("{pattern: '(S-)(ME)(M-)(*E)'" + sizes);
  CHECK(halves.layers == 8);
  CHECK(whole.layers == 4);
  CHECK(workload::parameter_count(whole) == workload::parameter_count(halves));
  CHECK(workload::forward_flops(whole, 2, 256) == Approx(workload::forward_flops(halves, 2, 256)));
  const OwnSetting of_halves(halves, "{}", {});
  const OwnSetting of_whole(whole, "{}", {});
  CHECK(layer_bytes(of_whole.setting, LayerKind::mamba_dense).held ==
        layer_bytes(of_halves.setting, LayerKind::mamba).held +
            layer_bytes(of_halves.setting, LayerKind::mlp).held);
  CHECK(layer_kernels(of_whole.setting, LayerKind::sliding_dense).forward.size() ==
        layer_kernels(of_halves.setting, LayerKind::sliding_attention).forward.size() +
            layer_kernels(of_halves.setting, LayerKind::mlp).forward.size());
  // Fewer layers than a pattern has are its first.
  CHECK(workload::kind_of_layer(model_of("{layers: 2, pattern: '(S-)(ME)(M-)(*E)'" + sizes), 1) ==
        LayerKind::mamba_experts);
}

TEST_CASE("latent experts work on, and are sent, smaller vectors", "[model]") {
  const std::string experts = ", biases: false, experts: {count: 4, top_k: 2, ffn: 96";
  const config::Model plain = with(experts + "}");
  const config::Model latent = with(experts + ", latent: 16}");
  // Of a token: two experts' three matrices of 64 or 16 x 96, and to 16 and back.
  CHECK(workload::layer_flops(plain, LayerKind::experts, 1, 256) -
            workload::layer_flops(latent, LayerKind::experts, 1, 256) ==
        Approx(2.0 * 256 * (2 * 3 * (64 - 16) * 96 - 2 * 64 * 16)));
  CHECK(workload::parameter_count(plain) - workload::parameter_count(latent) ==
        2 * (4 * 3 * (64 - 16) * 96 - 2 * 64 * 16));
  const OwnSetting own(latent, "{}", {});
  const workload::PassKernels kernels = layer_kernels(own.setting, LayerKind::experts);
  CHECK(bytes_of(kernels.forward, Part::permute) == 4.0 * (512 + 512) * 16);
  const auto is_latent = [](const workload::Kernel& kernel) {
    return kernel.part == Part::latent_in || kernel.part == Part::latent_out;
  };
  CHECK(std::ranges::count_if(kernels.forward, is_latent) == 2);
  CHECK(std::ranges::count_if(kernels.weight_grad, is_latent) == 2);
}

TEST_CASE("attention within chunks sees half of each", "[model]") {
  using workload::AttentionPairs;
  const workload::Attention chunked{.window = 256, .windowed_share = 1, .chunked = true};
  CHECK(attention_pairs(chunked, 1024, AttentionPairs::causal) == 4 * 256 * 256 / 2);
  CHECK(attention_pairs(chunked, 640, AttentionPairs::causal) == 2 * 256 * 256 / 2 + 128 * 128 / 2);
  CHECK(attention_pairs(chunked, 1024, AttentionPairs::full) == 4 * 256 * 256);
  CHECK(attention_pairs(chunked, 200, AttentionPairs::causal) == 200 * 200 / 2);
  // Every second layer sees all keys.
  const config::Model m = with(", attention_chunk_size: 64, full_attention_every: 2");
  CHECK(attention_pairs(m, 256, AttentionPairs::causal) ==
        Approx((256 * 256 / 2 + 4 * 64 * 64 / 2) / 2.0));
}

TEST_CASE("of layers that a window's rule leaves over, none sees all keys", "[model]") {
  // Eight layers, of which the sixth sees all: 1 of 8, not 1 of 6.
  const config::Model m = model_of(
      "{layers: 8, hidden: 64, heads: 8, vocabulary: 1000, sequence: 256, sliding_window: 16, "
      "full_attention_every: 6}");
  CHECK(workload::attention_pairs(m, 256, workload::AttentionPairs::causal) ==
        Approx((256 * 256 / 2 + 7 * (16 * 256 - 16 * 16 / 2)) / 8.0));
}

TEST_CASE("a model without attention needs no heads", "[model][hybrid]") {
  const std::string sizes = ", hidden: 64, vocabulary: 1000, sequence: 256, ";
  const config::Model m =
      model_of("{pattern: MM" + sizes + "mamba: {heads: 4, head_dim: 16, groups: 2}}");
  CHECK(m.heads == 4);
  const OwnSetting own(m, "{flash_attention: false}", {});
  CHECK(score_buffer_bytes(own.setting) == 0);
  const OwnSetting cut(m, "{}", {.cp = 2});
  CHECK(context_buffer_bytes(cut.setting) == 0);
}
