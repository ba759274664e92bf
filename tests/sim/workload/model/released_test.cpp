#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "support/paths.hpp"
#include "tests/sim/workload/model/support.hpp"

// Tests of the features of released models that Llama does not have: biases and norms in some
// places, layers of mixed kinds, experts on smaller vectors, attention within chunks.

using namespace pipewright;
using namespace pipewright::test;
using workload::LayerKind;
using workload::Part;

namespace {

const std::string small =
    "layers: 2, hidden: 64, heads: 8, kv_heads: 2, ffn: 128, mlp: swiglu, norm: rmsnorm, "
    "vocabulary: 1000, sequence: 256";

config::Model small_model(const std::string& extra_keys) {
  return model_of("{" + small + extra_keys + "}");
}

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

TEST_CASE("the parameters of a config.json are counted by matrices and norms",
          "[model][huggingface]") {
  // The model has two vocabulary matrices and a final norm. Each of four layers has Q and the
  // projection of 256 x 256, K and V of 256 x 64, an MLP of three 256 x 512 matrices, and two
  // norms.
  CHECK(count_of("small-dense") ==
        2 * 1000 * 256 + 4 * (2 * 256 * 256 + 2 * 256 * 64 + 3 * 256 * 512 + 2 * 256) + 256);
  // Latent attention: queries down to 48 and up to 4 heads of 24; keys and values down to 32 and 8
  // and up to 4 heads of 16 + 16; the projection; norms of the compressed vectors and of the input.
  constexpr int latent = 128 * 48 + 48 + 48 * 4 * 24 + 128 * 40 + 32 + 32 * 4 * 32 + 64 * 128;
  // Parameters of a layer with experts: attention, two norms, eight experts, a shared expert and
  // the router.
  constexpr int mixture = latent + 2 * 128 + 8 * 3 * 128 * 64 + 3 * 128 * 64 + 8 * 128;
  constexpr int dense = latent + 2 * 128 + 3 * 128 * 384;
  // A multi-token prediction module has a layer, a projection of both inputs and three norms.
  CHECK(count_of("small-mixture") ==
        2 * 1000 * 128 + 128 + dense + 2 * mixture + (mixture + 2 * 128 * 128 + 3 * 128));
  // Gemma 3 has four norms per layer and those of queries and keys, and one vocabulary matrix.
  CHECK(count_of("small-vision") ==
        1000 * 128 + 128 + 8 * (2 * 128 * 128 + 2 * 128 * 64 + 2 * 32 + 3 * 128 * 512 + 4 * 128));
  // Nemotron-H's ME*E-: Mamba-2 of 16 heads of 16 in 2 groups with states of 32; experts of two 64
  // x 96 between 128 x 64 and back, a shared expert and a router; attention; an MLP of two
  // matrices.
  constexpr int mamba = 128 * (256 + 384 + 16) + 256 * 128 + 384 * 5 + 3 * 16 + 256 + 128;
  constexpr int experts = 8 * 2 * 64 * 96 + 2 * 128 * 64 + 8 * 128 + 2 * 128 * 192 + 128;
  constexpr int attention = 2 * 128 * 128 + 2 * 128 * 64 + 128;
  CHECK(count_of("small-hybrid") ==
        2 * 1000 * 128 + 128 + mamba + 2 * experts + attention + 2 * 128 * 256 + 128);
}

TEST_CASE("biases count where a model has them", "[model]") {
  const std::uint64_t none = workload::parameter_count(small_model(", biases: false"));
  const auto added_parameters = [&](const std::string& biases) {
    return workload::parameter_count(small_model(", biases: " + biases)) - none;
  };
  CHECK(added_parameters("qkv") == 2 * (8 + 2 * 2) * 8);
  CHECK(added_parameters("attention") == 2 * ((8 + 2 * 2) * 8 + 64));
  CHECK(added_parameters("true") == 2 * ((8 + 2 * 2) * 8 + 64 + 2 * 128 + 64));
}

TEST_CASE("norms after attention and MLP add parameters, kernels and memory", "[model]") {
  const SettingFixture without(small_model(", biases: false"), "{}", {});
  const SettingFixture fixture(small_model(", biases: false, post_norms: true"), "{}", {});
  CHECK(workload::parameter_count(fixture.model) - workload::parameter_count(without.model) ==
        2 * 2 * 64);
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::dense);
  // Each norm reads and writes 256 tokens of 64 elements in 16 bits; the backward pass moves twice
  // as many bytes.
  CHECK(bytes_of(kernels.forward, Part::post_norm) == 2 * 4.0 * 256 * 64);
  CHECK(bytes_of(kernels.input_grad, Part::post_norm) == 2 * 8.0 * 256 * 64);
  CHECK(kernels.forward.size() ==
        layer_kernels(without.setting, LayerKind::dense).forward.size() + 2);
  CHECK(layer_bytes(fixture.setting, LayerKind::dense).held -
            layer_bytes(without.setting, LayerKind::dense).held ==
        2 * 2.0 * 256 * 64);
}

TEST_CASE("two symbols in parentheses are one layer with both", "[model][hybrid]") {
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
  const SettingFixture half_layers(halves, "{}", {});
  const SettingFixture whole_layers(whole, "{}", {});
  CHECK(layer_bytes(whole_layers.setting, LayerKind::mamba_dense).held ==
        layer_bytes(half_layers.setting, LayerKind::mamba).held +
            layer_bytes(half_layers.setting, LayerKind::mlp).held);
  CHECK(layer_kernels(whole_layers.setting, LayerKind::sliding_dense).forward.size() ==
        layer_kernels(half_layers.setting, LayerKind::sliding_attention).forward.size() +
            layer_kernels(half_layers.setting, LayerKind::mlp).forward.size());
  // If `layers` is smaller than the pattern, the model has the first layers of the pattern.
  CHECK(workload::kind_of_layer(model_of("{layers: 2, pattern: '(S-)(ME)(M-)(*E)'" + sizes), 1) ==
        LayerKind::mamba_experts);
}

TEST_CASE("latent experts receive and process smaller vectors", "[model]") {
  const std::string experts = ", biases: false, experts: {count: 4, top_k: 2, ffn: 96";
  const config::Model plain = small_model(experts + "}");
  const config::Model latent = small_model(experts + ", latent: 16}");
  // A token visits two experts of three matrices, which are 64 x 96, or 16 x 96 in the latent
  // model. That model also projects tokens to 16 elements and back.
  CHECK(workload::layer_flops(plain, LayerKind::experts, 1, 256) -
            workload::layer_flops(latent, LayerKind::experts, 1, 256) ==
        Approx(2.0 * 256 * (2 * 3 * (64 - 16) * 96 - 2 * 64 * 16)));
  CHECK(workload::parameter_count(plain) - workload::parameter_count(latent) ==
        2 * (4 * 3 * (64 - 16) * 96 - 2 * 64 * 16));
  const SettingFixture fixture(latent, "{}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::experts);
  CHECK(bytes_of(kernels.forward, Part::permute) == 4.0 * (512 + 512) * 16);
  const auto is_latent = [](const workload::Kernel& kernel) {
    return kernel.part == Part::latent_in || kernel.part == Part::latent_out;
  };
  CHECK(std::ranges::count_if(kernels.forward, is_latent) == 2);
  CHECK(std::ranges::count_if(kernels.weight_grad, is_latent) == 2);
}

TEST_CASE("causal attention within chunks computes half of the pairs of each chunk", "[model]") {
  using workload::AttentionPairs;
  const workload::Attention chunked{.window = 256, .windowed_share = 1, .chunked = true};
  CHECK(attention_pairs(chunked, 1024, AttentionPairs::causal) == 4 * 256 * 256 / 2);
  CHECK(attention_pairs(chunked, 640, AttentionPairs::causal) == 2 * 256 * 256 / 2 + 128 * 128 / 2);
  CHECK(attention_pairs(chunked, 1024, AttentionPairs::full) == 4 * 256 * 256);
  CHECK(attention_pairs(chunked, 200, AttentionPairs::causal) == 200 * 200 / 2);
  // With full_attention_every: 2, every second layer attends to all keys instead of its chunk.
  const config::Model m = small_model(", attention_chunk_size: 64, full_attention_every: 2");
  CHECK(attention_pairs(m, 256, AttentionPairs::causal) ==
        Approx((256 * 256 / 2 + 4 * 64 * 64 / 2) / 2.0));
}

TEST_CASE("the layers after the last full period of a window's rule have the window", "[model]") {
  // Only the sixth of eight layers attends to all keys, so that the mean is over 1 in 8 layers and
  // not 1 in 6.
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
  const SettingFixture fixture(m, "{flash_attention: false}", {});
  CHECK(score_buffer_bytes(fixture.setting) == 0);
  const SettingFixture cut(m, "{}", {.cp = 2});
  CHECK(context_buffer_bytes(cut.setting) == 0);
}
