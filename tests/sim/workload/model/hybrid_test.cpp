#include <catch2/catch.hpp>

#include "schedules/routes.hpp"
#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/calls.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using config::test::error_of;
using workload::LayerKind;
using workload::Part;

// Layers have 64 elements and sequences 256 tokens. Mamba-2 has 4 heads of 16 in 2 groups with
// states of 8; the gated delta net has 2 heads of keys and 4 of values, of 8 and 16 elements.
namespace {

config::Model hybrid(const std::string& pattern, const std::string& extra_keys = "") {
  return model_of("{pattern: '" + pattern +
                  "', hidden: 64, heads: 8, kv_heads: 2, ffn: 128, norm: rmsnorm, biases: false,\n"
                  " vocabulary: 1000, sequence: 256,\n"
                  " mamba: {heads: 4, head_dim: 16, groups: 2, state: 8},\n"
                  " linear_attention: {key_heads: 2, value_heads: 4, key_head_dim: 8, "
                  "value_head_dim: 16},\n"
                  " experts: {count: 4, top_k: 2, ffn: 32}" +
                  extra_keys + "}");
}

constexpr std::uint64_t vocabulary = 2ULL * 1000 * 64 + 64;  // both matrices and the final norm
// Projections from 64 to [gates, x, B, C, steps] and back; a convolution over 4 tokens of 64 + 2 x
// 16 channels with its bias; decay, skip and step of each head; norms before the mixer and of its
// result.
constexpr std::uint64_t mamba = 64 * (2 * 64 + 2 * 16 + 4) + 64 * 64 + 96 * 5 + 3 * 4 + 64 + 64;
// Projections from 64 to [queries, keys, values, gates, decay, strength] and back.
constexpr std::uint64_t delta = 64 * (2 * 16 + 2 * 64 + 2 * 4) + 64 * 64 + 96 * 4 + 2 * 4 + 16 + 64;
constexpr std::uint64_t attention = 64 * (8 + 2 * 2) * 8 + 64 * 64 + 64;
constexpr std::uint64_t mlp = 2 * 64 * 128 + 64;
constexpr std::uint64_t experts = 4 * 2 * 64 * 32 + 64 * 4 + 64;

double bytes_of(const std::vector<workload::Kernel>& kernels, Part part) {
  double bytes = 0;
  for (const workload::Kernel& kernel : kernels)
    if (kernel.part == part) bytes += kernel.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("a pattern has a symbol for each layer", "[model][hybrid]") {
  CHECK(hybrid("M*-GE").layers == 5);
  CHECK(workload::parameter_count(hybrid("M")) == vocabulary + mamba);
  CHECK(workload::parameter_count(hybrid("G")) == vocabulary + delta);
  CHECK(workload::parameter_count(hybrid("MM*-GE")) ==
        vocabulary + 2 * mamba + attention + mlp + delta + experts);
  // An attention layer and an MLP layer of a pattern together equal one layer of a transformer.
  const config::Model dense = model_of(
      "{layers: 3, hidden: 64, heads: 8, kv_heads: 2, ffn: 128, norm: rmsnorm, biases: false, "
      "vocabulary: 1000, sequence: 256}");
  CHECK(workload::parameter_count(hybrid("*-*-*-")) == workload::parameter_count(dense));
  CHECK(workload::forward_flops(hybrid("*-*-*-"), 2, 256) ==
        Approx(workload::forward_flops(dense, 2, 256)));
}

TEST_CASE("Nemotron 3 Nano and Qwen3-Next have their published parameter counts",
          "[model][hybrid]") {
  const config::Model nano = library_model("nemotron-3-nano-30b-a3b");
  CHECK(nano.layers == 52);
  CHECK(static_cast<double>(workload::parameter_count(nano)) == Approx(31.6e9).epsilon(0.005));
  // Without embeddings, 3.2 billion parameters are active per token.
  CHECK(static_cast<double>(workload::active_parameter_count(nano)) - 2.0 * 131072 * 2688 / 2 ==
        Approx(3.2e9).epsilon(0.02));
  const config::Model next = library_model("qwen3-next-80b-a3b");
  CHECK(static_cast<double>(workload::parameter_count(next)) == Approx(80e9).epsilon(0.01));
}

TEST_CASE("FLOPs of recurrences are counted like in Megatron-LM", "[model][hybrid]") {
  // Megatron-LM's mamba_layer_flops counts the products and 7 x d x n FLOPs per token for the
  // recurrence, but no convolution.
  const double tokens = 2 * 256;
  CHECK(workload::layer_flops(hybrid("M"), LayerKind::mamba, 2, 256) ==
        tokens * (2 * 64 * (2 * 64 + 2 * 16 + 4) + 7 * 64 * 8 + 2 * 64 * 64));
  // Megatron-LM's gdn_layer_flops counts four products with the state of each head.
  CHECK(workload::layer_flops(hybrid("G"), LayerKind::linear_attention, 2, 256) ==
        tokens * (2 * 64 * (2 * 16 + 2 * 64 + 2 * 4) + 2 * 4 * 4 * 16 * 8 + 2 * 64 * 64));
  // Only attention layers have FLOPs for scores; other kinds of layers add none.
  CHECK(workload::score_flops(hybrid("M*GE-"), 1, 256) ==
        Approx(workload::score_flops(hybrid("*"), 1, 256)));
}

TEST_CASE("a sliding window applies to the layers that have one", "[model][hybrid]") {
  const config::Model model = hybrid("*S", ", sliding_window: 16");
  const auto flops = [&](LayerKind kind) {
    const workload::Layer layer =
        layer_on_gpu(model, kind, workload::uncut_sizes(model, 1, model.sequence));
    return workload::attention_pairs(layer.attention, 256, workload::AttentionPairs::causal);
  };
  CHECK(flops(LayerKind::attention) == 256 * 256 / 2);
  CHECK(flops(LayerKind::sliding_attention) == 16 * 256 - 16 * 16 / 2);
}

TEST_CASE("kernels of a recurrence move the bytes of their tensors", "[model][hybrid]") {
  const SettingFixture fixture(hybrid("MG"), "{}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::mamba);
  // The convolution reads and writes 96 channels of 2 bytes. The gated norm also reads gates.
  CHECK(bytes_of(kernels.forward, Part::convolution) == 256.0 * 96 * 4);
  CHECK(bytes_of(kernels.forward, Part::recurrence_norm) == 256.0 * 64 * 6);
  // Each chunk of 128 tokens stores a state of 64 x 8 fp32 elements, which is 16 bytes per token.
  const auto states = std::ranges::find_if(
      kernels.forward, [](const auto& kernel) { return kernel.name == "chunk states"; });
  REQUIRE(states != kernels.forward.end());
  CHECK(states->bytes == 256.0 * (2 * 64 + 2 * 16 + 16));
  // The backward pass recomputes states and scores.
  CHECK(bytes_of(kernels.input_grad, Part::recurrence) >
        bytes_of(kernels.forward, Part::recurrence));
  CHECK(kernels.weight_grad.size() == 2);
}

TEST_CASE("a recurrence saves the output of its input projection", "[model][hybrid]") {
  const SettingFixture fixture(hybrid("MG*-"), "{}", {});
  const double tokens = 256;
  // The layer saves its input, the norm's result, gates with x, B, C and steps, and the result
  // before and after gating.
  CHECK(layer_bytes(fixture.setting, LayerKind::mamba).held ==
        tokens * 2 * (64 + 64 + 164 + 64 + 64));
  // A gated delta net also saves the convolution's output, normed queries and keys, and 64 scores
  // per head.
  CHECK(layer_bytes(fixture.setting, LayerKind::linear_attention).held ==
        tokens * 2 * (64 + 64 + 168 + 64 + 64 + 96 + 32 + 4 * 64));
  // A transformer layer saves as much as an attention layer and an MLP layer together.
  const double halves = layer_bytes(fixture.setting, LayerKind::attention).held +
                        layer_bytes(fixture.setting, LayerKind::mlp).held;
  CHECK(layer_bytes(fixture.setting, LayerKind::dense).held == halves);
}

TEST_CASE("ranks of cp exchange tokens of a recurrence for a part of its heads",
          "[model][hybrid]") {
  const config::Model model = hybrid("M");
  const config::Training training = training_of("{}");
  const config::Parallel parallel = parallel_of({.cp = 2});
  const std::vector<config::Gpu> gpus(1, config::find_gpu("a100-80gb"));
  const workload::StageCosts costs =
      workload::model_costs({model, training, parallel, {}, gpus}, schedules::Routes::looped(1, 1));
  const auto& calls = costs.traffic[0][schedules::PassKind::forward];
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].group == workload::Group::cp);
  CHECK(calls[0].collective == workload::Collective::all_to_all);
  CHECK(calls[0].bytes == 128 * 164 * 2);
  CHECK(calls[1].bytes == 128 * 64 * 2);
}

TEST_CASE("errors of a pattern name the missing or wrong key", "[model][hybrid]") {
  const auto fault = [](const std::string& text) { return error_of([&] { model_of(text); }); };
  const std::string sizes = ", hidden: 64, heads: 8, vocabulary: 1000, sequence: 256";
  CHECK_THAT(fault("{pattern: 'M*'" + sizes + "}"),
             Catch::Contains("pattern has layers of type M, which need the key mamba"));
  CHECK_THAT(fault("{pattern: 'Mx', mamba: {heads: 4}" + sizes + "}"),
             Catch::Contains("one symbol per layer, M, G, *, S, +, - or E"));
  CHECK_THAT(fault("{pattern: 'M*', layers: 3, mamba: {heads: 8}" + sizes + "}"),
             Catch::Contains("layers is 3, and pattern has 2 layers; allowed: 1 to 2"));
  CHECK_THAT(fault("{layers: 2, mamba: {heads: 8}" + sizes + "}"),
             Catch::Contains("mamba needs pattern"));
  CHECK_THAT(fault("{hidden: 64, heads: 8, vocabulary: 1000, sequence: 256}"),
             Catch::Contains("layers is missing"));
  CHECK_THAT(fault("{pattern: 'E*', experts: {count: 4, ffn: 32, every: 2}" + sizes + "}"),
             Catch::Contains("whose E says which layers have experts"));
  CHECK_THAT(fault("{pattern: 'M', mamba: {heads: 6, groups: 4}" + sizes + "}"),
             Catch::Contains("6 heads in 4 groups, which does not divide them; allowed: 3"));
}
