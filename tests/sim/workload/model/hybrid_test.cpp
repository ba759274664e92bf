#include <algorithm>
#include <string_view>

#include <catch2/catch.hpp>
#include <fmt/format.h>

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

namespace {

double bytes_named(const std::vector<workload::Kernel>& kernels, std::string_view name) {
  double bytes = 0;
  for (const workload::Kernel& kernel : kernels)
    if (kernel.name == name) bytes += kernel.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("a gated delta net copies its inputs before the kernels of its chunks",
          "[model][hybrid]") {
  const SettingFixture fixture(hybrid("G"), "{}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::linear_attention);
  // 2 heads of queries and of keys of 8 are repeated for 4 heads of values; values and gates of 4 x
  // 16 are copied.
  const double inputs = 256.0 * 2 * (2 * 16 + 2 * 32 + 2 * 64 + 2 * 64);
  CHECK(bytes_named(kernels.forward, "inputs") == inputs);
  CHECK(bytes_named(kernels.input_grad, "gradient of inputs") == inputs);
  // The gradients of the slices become one tensor, as wide as the result of the projection.
  CHECK(bytes_named(kernels.input_grad, "concatenation") ==
        256.0 * 2 * 2 * (2 * 16 + 2 * 64 + 2 * 4));
  // fp32 decays of 4 heads, and 64 scores for each head and token, whose inverse takes their place.
  CHECK(bytes_named(kernels.forward, "sums of decays") == 256.0 * 2 * 4 * 4);
  CHECK(bytes_named(kernels.forward, "zeros") == 256.0 * 2 * 4 * 64);
  CHECK(bytes_named(kernels.forward, "inverse of scores") == 256.0 * 2 * (32 + 4 * 64));
  CHECK(bytes_named(kernels.input_grad, "sum of gradients of keys") == 256.0 * 6 * 32);
}

TEST_CASE("kernels of a gated delta net reach their own part of the bandwidth", "[model][hybrid]") {
  config::Gpu gpu;
  gpu.memory_bandwidth = 1e12;
  gpu.kernel_overhead = 0;
  gpu.recurrence_efficiency = 0.25;
  workload::Kernel kernel{.work = workload::Kernel::Work::recurrence, .bytes = 1e9};
  CHECK(workload::kernel_time(kernel, gpu).seconds == Approx(4e-3));
  kernel.is_delta = true;
  CHECK(workload::kernel_time(kernel, gpu).seconds == Approx(4e-3));
  gpu.delta_efficiency = 0.5;
  CHECK(workload::kernel_time(kernel, gpu).seconds == Approx(2e-3));
}

// Counts of torch_chunk_gated_delta_rule: 6 operations for each of 63 rows of a chunk's matrix, and
// 20 for each of the 4 chunks of 64 tokens; in the backward pass 16 and 56.
TEST_CASE("a deterministic gated delta net runs its chunks one after the other",
          "[model][hybrid]") {
  const auto kernels_of = [](std::uint32_t sequence) {
    const SettingFixture fixture(
        hybrid("G"), fmt::format("{{deterministic: true, sequence: {}}}", sequence), {});
    return layer_kernels(fixture.setting, LayerKind::linear_attention);
  };
  const auto named = [](const std::vector<workload::Kernel>& kernels, std::string_view name) {
    const auto found = std::ranges::find(kernels, name, &workload::Kernel::name);
    REQUIRE(found != kernels.end());
    return *found;
  };
  const workload::PassKernels kernels = kernels_of(256);
  CHECK(named(kernels.forward, "inverse").looped + 1 == 6 * 63);
  CHECK(named(kernels.forward, "chunks").looped + 1 == 20 * 4);
  CHECK(named(kernels.input_grad, "inverse").looped + 1 == 16 * 63);
  CHECK(named(kernels.input_grad, "chunks").looped + 1 == 56 * 4);
  // The copy, the product and the sum of i x i fp32 elements for each row i < 64 of a matrix, of
  // which 4 heads have one for each chunk.
  const double triangles = 63.0 * 64 * 127 / 6 * 4 * 4;
  CHECK(named(kernels.forward, "inverse").bytes == Approx((8 + 8 + 4) * triangles));
  // Twice the tokens have twice the chunks, and gradients of parts of a sequence twice as long.
  const double backward = named(kernels.input_grad, "chunks").bytes;
  CHECK(named(kernels_of(512).input_grad, "chunks").bytes > 2 * backward);
  CHECK(named(kernels_of(512).forward, "chunks").bytes ==
        Approx(2 * named(kernels.forward, "chunks").bytes));
  CHECK(named(kernels.forward, "chunks").is_operation);
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
             Catch::Contains("one symbol per layer, M, G, *, S, +, D, W, I, H, P, C, - or E"));
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

// Hybrids of 64 elements with short convolutions of 32 channels, and with latent attention and
// indexers of 2 heads of 16.
namespace {

const std::string convolution = ", short_convolution: {channels: 32}";
const std::string indexed =
    ", latent: {query_rank: 24, kv_rank: 16, nope_head_dim: 8, rope_head_dim: 4, "
    "value_head_dim: 8}, indexer: {heads: 2, head_dim: 16, top_k: 128}";

double held(const config::Model& model, LayerKind kind) {
  const SettingFixture fixture(model, "{}", {});
  return layer_bytes(fixture.setting, kind).held;
}

double flops(const config::Model& model, LayerKind kind) {
  return workload::layer_flops(model, kind, 1, 256);
}

}  // namespace

TEST_CASE("a short convolution has two products and three kernels", "[model][hybrid]") {
  const config::Model model = hybrid("C", convolution);
  // From 64 to two gates and the input of the convolution, 3 weights of each channel, and back.
  constexpr std::uint64_t products = 64 * 3 * 32 + 32 * 64;
  CHECK(workload::parameter_count(model) == vocabulary + products + 32 * 3 + 64);
  CHECK(workload::parameter_count(hybrid("C", ", short_convolution: {width: 4, bias: true}")) ==
        vocabulary + 4 * 64 * 64 + 64 * 4 + (3 + 1 + 1) * 64 + 64);
  CHECK(workload::parameter_count(hybrid("(C-)(CE)", convolution)) ==
        vocabulary + 2 * (products + 32 * 3 + 64) + mlp + experts);
  CHECK(flops(model, LayerKind::convolution) == 256.0 * 2 * products);
  const SettingFixture fixture(model, "{}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::convolution);
  // Each gate reads two tensors of 2 bytes and writes one, the convolution reads and writes one.
  CHECK(bytes_of(kernels.forward, Part::convolution) == 256.0 * 32 * 2 * (3 + 2 + 3));
  // The gradient of each gate reads three and writes two, that of the convolution two and one.
  CHECK(bytes_of(kernels.input_grad, Part::convolution) == 256.0 * 32 * 2 * (5 + 3 + 5));
  // The layer saves its input, the norm's result, the result of its first product, the input and
  // the output of the convolution, and the input of its second product.
  CHECK(held(model, LayerKind::convolution) == 256.0 * 2 * (64 + 64 + 3 * 32 + 32 + 32 + 32));
}

TEST_CASE("attention beside Mamba has the parts of both and one norm", "[model][hybrid]") {
  const config::Model model = hybrid("P");
  CHECK(workload::parameter_count(model) == vocabulary + attention + mamba - 64);
  CHECK(flops(model, LayerKind::parallel) ==
        flops(hybrid("*"), LayerKind::attention) + flops(hybrid("M"), LayerKind::mamba));
  // Both read the same input and the same result of the norm.
  CHECK(held(model, LayerKind::parallel) == held(hybrid("*"), LayerKind::attention) +
                                                held(hybrid("M"), LayerKind::mamba) -
                                                256.0 * 2 * (64 + 64));
  const SettingFixture fixture(model, "{}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::parallel);
  for (const Part part : {Part::attention_norm, Part::core_attention, Part::projection,
                          Part::recurrence, Part::recurrence_out})
    CHECK(std::ranges::any_of(kernels.forward,
                              [&](const auto& kernel) { return kernel.part == part; }));
  // The sum of both results reads two tensors and writes one.
  CHECK(bytes_of(kernels.forward, Part::recurrence_out) -
            bytes_of(layer_kernels(SettingFixture(hybrid("M"), "{}", {}).setting, LayerKind::mamba)
                         .forward,
                     Part::recurrence_out) ==
        256.0 * 64 * 6);
  CHECK(kernels.weight_grad.size() == 4);
}

TEST_CASE("ranks of cp exchange what each mixer needs", "[model][hybrid]") {
  const auto calls = [](const config::Model& model) {
    const config::Training training = training_of("{}");
    const config::Parallel parallel = parallel_of({.cp = 2});
    const std::vector<config::Gpu> gpus(1, config::find_gpu("a100-80gb"));
    const workload::StageCosts costs = workload::model_costs({model, training, parallel, {}, gpus},
                                                             schedules::Routes::looped(1, 1));
    return costs.traffic[0][schedules::PassKind::forward];
  };
  CHECK(calls(hybrid("C", convolution)).empty());
  const auto parallel = calls(hybrid("P"));
  REQUIRE(parallel.size() == 3);
  CHECK(parallel[0].collective == workload::Collective::ring_exchange);
  CHECK(parallel[1].collective == workload::Collective::all_to_all);
  CHECK(parallel[1].bytes == 128 * 164 * 2);
}

TEST_CASE("decays and gates of low rank are products of their own", "[model][hybrid]") {
  const std::string sizes =
      "{pattern: G, hidden: 64, heads: 8, norm: rmsnorm, biases: false, vocabulary: 1000, "
      "sequence: 256, linear_attention: {key_heads: 4, value_heads: 4, key_head_dim: 8, "
      "value_head_dim: 8";
  const config::Model usual = model_of(sizes + "}}");
  const config::Model low = model_of(sizes + ", decay_rank: 8, gate_rank: 8}}");
  // Gates of 32 in place of a matrix of 64 x 32, and decays of 32 channels in place of 4 heads.
  constexpr std::uint64_t rank = 64 * 8 + 8 * 32;
  CHECK(workload::parameter_count(low) ==
        workload::parameter_count(usual) - 64 * 32 + rank - 64 * 4 + rank + (32 - 4));
  CHECK(flops(low, LayerKind::linear_attention) ==
        flops(usual, LayerKind::linear_attention) - 256.0 * 2 * (64 * 36 - 2 * rank));
  // The first product has 36 elements less, and both results of each pair are saved.
  CHECK(held(low, LayerKind::linear_attention) ==
        held(usual, LayerKind::linear_attention) + 256.0 * 2 * (2 * (8 + 32) - 36));
  const SettingFixture fixture(low, "{}", {});
  CHECK(layer_kernels(fixture.setting, LayerKind::linear_attention).weight_grad.size() == 6);
}

TEST_CASE("Mamba-1 has a product for steps, B and C, and a single scan", "[model][hybrid]") {
  const std::string sizes =
      "{pattern: M, hidden: 64, heads: 8, norm: rmsnorm, biases: false, vocabulary: 1000, "
      "sequence: 256, mamba: {heads: 128, head_dim: 1, groups: 1, state: 16, step_rank: 4";
  const config::Model model = model_of(sizes + "}}");
  constexpr std::uint64_t products = 64 * 256 + 128 * (4 + 32) + 4 * 128 + 128 * 64;
  // The convolution with its bias; bias of the step, decays and skip of each channel; three norms.
  CHECK(workload::parameter_count(model) ==
        vocabulary + products + 128 * 5 + 128 * (1 + 16 + 1) + (4 + 32) + 64);
  CHECK(workload::parameter_count(model_of(sizes + ", norm: false}}")) ==
        workload::parameter_count(model) - (4 + 32));
  CHECK(flops(model, LayerKind::mamba) == 256.0 * (2 * products + 9 * 128 * 16));
  CHECK(held(model, LayerKind::mamba) ==
        256.0 * 2 * (64 + 64 + 256 + (4 + 32 + 128) + 128 + 128 + 128));
  const SettingFixture fixture(model, "{}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, LayerKind::mamba);
  const auto scan = std::ranges::find(kernels.forward, "selective scan", &workload::Kernel::name);
  REQUIRE(scan != kernels.forward.end());
  // x, steps and gates, B and C; results before and after gating.
  CHECK(scan->bytes == 256.0 * 2 * (3 * 128 + 2 * 16 + 2 * 128));
}

TEST_CASE("Mamba without a norm has no kernel for it", "[model][hybrid]") {
  const auto model = [](const std::string& norm) {
    return model_of(
        "{pattern: M, hidden: 64, norm: rmsnorm, biases: false, vocabulary: 1000, sequence: 256, "
        "mamba: {heads: 4, head_dim: 16, groups: 2, state: 8" +
        norm + "}}");
  };
  CHECK(workload::parameter_count(model("")) - workload::parameter_count(model(", norm: false")) ==
        64);
  const SettingFixture fixture(model(", norm: false"), "{}", {});
  CHECK(bytes_of(layer_kernels(fixture.setting, LayerKind::mamba).forward, Part::recurrence_norm) ==
        0);
}

TEST_CASE("an indexer adds its products to latent attention", "[model][hybrid]") {
  const config::Model model = hybrid("D+", indexed);
  // Queries from 24 to 2 x 16; a key of 16 with its LayerNorm and 2 weights from 64.
  constexpr std::uint64_t products = 24 * 32 + 64 * (16 + 2);
  CHECK(workload::parameter_count(hybrid("D", indexed)) ==
        workload::parameter_count(hybrid("+", indexed)) + products + 2 * 16);
  CHECK(flops(model, LayerKind::indexed_attention) == flops(model, LayerKind::latent_attention) +
                                                          256.0 * 2 * products +
                                                          256.0 * 256 / 2 * 2 * 2 * 16);
  // The layer saves 128 indices of 4 bytes for each query, too.
  CHECK(held(model, LayerKind::indexed_attention) ==
        held(model, LayerKind::latent_attention) + 256.0 * (2 * (32 + 16 + 2) + 4 * 128));
  const SettingFixture fixture(model, "{}", {});
  const auto kernels = layer_kernels(fixture.setting, LayerKind::indexed_attention);
  CHECK(std::ranges::count(kernels.forward, Part::indexer, &workload::Kernel::part) == 2);
  CHECK(std::ranges::count(kernels.weight_grad, Part::indexer, &workload::Kernel::part) == 2);
  // Without a pattern, every layer has an indexer, also that of multi-token prediction.
  const config::Model plain = model_of(
      "{layers: 2, mtp_layers: 1, hidden: 64, heads: 8, ffn: 128, vocabulary: 1000, sequence: 256" +
      indexed + "}");
  CHECK(workload::mixer_of(plain, workload::kind_of_layer(plain, 0)) == workload::Mixer::indexed);
  CHECK(workload::mixer_of(plain, workload::kind_of_mtp(plain)) == workload::Mixer::indexed);
}

TEST_CASE("layers with a window can have other heads", "[model][hybrid]") {
  const config::Model model =
      hybrid("*S",
             ", sliding_window: 16, keys_as_values: true, value_head_dim: 4, "
             "sliding: {heads: 4, kv_heads: 4, head_dim: 16}");
  // 8 heads of queries and 2 of keys, of 8 elements each, with results of 4; then 4 heads of
  // queries, keys, values and results of 16.
  CHECK(workload::parameter_count(model) ==
        vocabulary + 64 * (8 + 2) * 8 + 8 * 4 * 64 + 64 + 64 * (4 + 2 * 4) * 16 + 4 * 16 * 64 + 64);
}

TEST_CASE("errors name what the new parts of a model need", "[model][hybrid]") {
  const auto fault = [](const std::string& pattern, const std::string& keys) {
    return error_of([&] { hybrid(pattern, keys); });
  };
  CHECK_THAT(fault("C", ""), Catch::Contains("type C, which need the key short_convolution"));
  CHECK_THAT(fault("D",
                   ", latent: {query_rank: 8, kv_rank: 8, nope_head_dim: 8, rope_head_dim: 4, "
                   "value_head_dim: 8}"),
             Catch::Contains("type D, which need the key indexer"));
  CHECK_THAT(fault("*", ", indexer: {heads: 2}"),
             Catch::Contains("indexer needs latent attention with compressed queries"));
  CHECK_THAT(fault("*", ", indexer: {head_dim: 2}"), Catch::Contains("heads is missing"));
  CHECK_THAT(fault("S", ", sliding_window: 8, sliding: {heads: 6, kv_heads: 4}"),
             Catch::Contains("sliding.kv_heads is 4, which does not divide the 6 heads"));
  CHECK_THAT(fault("+", indexed + ", output_gate: true"),
             Catch::Contains("latent attention has no gate"));
  const std::string sizes = ", hidden: 64, heads: 8, vocabulary: 1000, sequence: 256}";
  for (const char* const key : {"short_convolution: {}", "sliding: {heads: 2}"})
    CHECK_THAT(error_of([&] { model_of("{layers: 2, " + std::string(key) + sizes); }),
               Catch::Contains("needs pattern"));
  CHECK_THAT(error_of([] {
               model_of(
                   "{pattern: P, mamba: {heads: 8}, hidden: 64, vocabulary: 10, "
                   "sequence: 256}");
             }),
             Catch::Contains("type P, which need the key heads"));
}
