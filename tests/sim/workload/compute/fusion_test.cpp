#include <initializer_list>

#include <catch2/catch.hpp>

#include "sim/config/text/library.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "tests/sim/workload/model/support.hpp"

// Tests groups of small kernels that a software stack runs as one kernel, or one by one.

using namespace pipewright;
using namespace pipewright::test;
using config::Fusable;
using workload::Kernel;
using workload::LayerKind;
using workload::PassKernels;

namespace {

constexpr double tokens = 1024;
constexpr double hidden = 64;
constexpr double ffn = 96;

// Each of two ranks has four of eight experts, and receives as many copies of tokens as it sends.
constexpr double copies = 2 * tokens;

// Returns a model with dropout, of layers with eight experts, two of which process each token.
config::Model mixture(const std::string& norm, const std::string& mlp) {
  return model_of("{name: m, layers: 1, hidden: 64, heads: 1, ffn: 96, mlp: " + mlp +
                  ", norm: " + norm +
                  ", dropout: 0.1, vocabulary: 100, sequence: 1024, experts: {count: 8, top_k: 2, "
                  "ffn: 96}}");
}

// Returns the kernels of a layer by a stack that fuses everything except `apart`.
PassKernels kernels_of(const config::Model& model, std::initializer_list<Fusable> apart,
                       LayerKind kind = LayerKind::experts) {
  SettingFixture fixture(model, "{}", {.ep = 2, .dp = 2});
  for (const Fusable group : apart)
    fixture.training.stack.fused.reset(static_cast<std::size_t>(group));
  return layer_kernels(fixture.setting, kind);
}

double bytes_of(const std::vector<Kernel>& kernels) {
  double bytes = 0;
  for (const Kernel& kernel : kernels) bytes += kernel.times * kernel.bytes;
  return bytes;
}

// Kernels and bytes that a pass has in addition if a group of kernels is not fused.
struct Added {
  double kernels = 0;
  double bytes = 0;
};

Added added(const std::vector<Kernel>& apart, const std::vector<Kernel>& fused) {
  return {launches(apart).total() - launches(fused).total(), bytes_of(apart) - bytes_of(fused)};
}

struct AddedByPass {
  Added forward;
  Added input_grad;
};

AddedByPass added_without(Fusable group) {
  const config::Model model = mixture("rmsnorm", "swiglu");
  const PassKernels apart = kernels_of(model, {group});
  const PassKernels fused = kernels_of(model, {});
  return {added(apart.forward, fused.forward), added(apart.input_grad, fused.input_grad)};
}

void check(const Added& pass, double kernels, double bytes) {
  CHECK(pass.kernels == kernels);
  CHECK(pass.bytes == Approx(bytes));
}

}  // namespace

TEST_CASE("an RMSNorm that is not fused is six kernels, and seven in the backward pass",
          "[stack]") {
  const auto [forward, input_grad] = added_without(Fusable::norm);
  // The layer has two norms. A fused one moves 4 bytes per element, and 8 in the backward pass.
  check(forward, 2 * 5, 2 * (36 - 4) * tokens * hidden);
  check(input_grad, 2 * 6, 2 * (48 - 8) * tokens * hidden);
}

TEST_CASE("a gated activation that is not fused multiplies by the gate in a kernel of its own",
          "[stack]") {
  const auto [forward, input_grad] = added_without(Fusable::activation);
  check(forward, 1, (10 - 6) * copies * ffn);
  check(input_grad, 2, (18 - 10) * copies * ffn);
}

TEST_CASE("an unfused rotary embedding of packed documents is launched document by document",
          "[stack]") {
  const auto launches_of = [](const std::string& lengths, const char* family, bool fused) {
    SettingFixture fixture(model_of("{name: m, layers: 1, hidden: 64, heads: 1, ffn: 96, "
                                    "vocabulary: 100, sequence: 1024}"),
                           "{sequence: 1024" + lengths + "}", {});
    fixture.training.stack.family = family;
    fixture.training.stack.fused.set(static_cast<std::size_t>(Fusable::rope), fused);
    const PassKernels kernels = layer_kernels(fixture.setting, LayerKind::dense);
    return std::pair(launches(kernels.forward), launches(kernels.input_grad));
  };
  const std::string documents = ", lengths: {documents: [256, 256, 256, 256]}";
  const auto [fused_f, fused_b] = launches_of(documents, "megatron", true);
  CHECK(fused_f.operations == 0);
  const auto [forward, backward] = launches_of(documents, "megatron", false);
  // Queries and keys of four documents, whose lengths the host reads twice for each.
  CHECK(forward.operations == 2 * 2 + 2 * 4 * 13);
  CHECK(backward.operations == 2 * 4 * 10);
  CHECK(forward.kernels == fused_f.kernels - 1);
  // Samples of one document, and other software, take three kernels.
  for (const auto& [lengths, family] :
       {std::pair{std::string(), "megatron"}, {documents, "pytorch"}}) {
    const auto [plain_f, plain_b] = launches_of(lengths, family, false);
    CHECK(plain_f.operations == 0);
    CHECK(plain_f.kernels == fused_f.kernels + 2);
  }
}

TEST_CASE("a rotary embedding that is not fused casts, multiplies and casts back", "[stack]") {
  const auto [forward, input_grad] = added_without(Fusable::rope);
  // Queries and keys of one head.
  check(forward, 2, (20 - 4) * 2 * tokens * hidden);
  check(input_grad, 2, (20 - 4) * 2 * tokens * hidden);
}

TEST_CASE("dropout that is not fused with the residual addition is a kernel before it", "[stack]") {
  const auto [forward, input_grad] = added_without(Fusable::residual);
  check(forward, 2, 2 * (5 + 6 - 7) * tokens * hidden);
  check(input_grad, 0, 0);
}

TEST_CASE("a router that is not fused computes its scores in small kernels", "[stack]") {
  const auto [forward, input_grad] = added_without(Fusable::router);
  // Fused, 8 scores per token move 16.1 bytes each, and 24 in the backward pass.
  check(forward, 12 - 3, (33.7 - 16.1) * tokens * 8);
  check(input_grad, 5 - 2, (30.5 - 24) * tokens * 8);
}

TEST_CASE("a permutation that is not fused sorts indices, and gathers and scatters copies",
          "[stack]") {
  const auto [forward, input_grad] = added_without(Fusable::permutation);
  // Tokens are permuted and brought back, in both passes. Fused, this moves 8 bytes per element
  // each time, and else 12 and 20 bytes, and 16 and 28 bytes in the backward pass.
  check(forward, 12, (12 + 20 - 16) * copies * hidden + 2 * 40 * copies);
  check(input_grad, 15, (16 + 28 - 16) * copies * hidden + 2 * 40 * copies);
}

TEST_CASE("a permutation that is not fused adds up the copies of tokens that were sent once",
          "[stack]") {
  const config::Model model = mixture("rmsnorm", "swiglu");
  const auto kernels = [&](bool fused) {
    SettingFixture fixture(model, "{experts: {dispatcher: deepep}}", {.ep = 2, .dp = 2});
    fixture.training.stack.fused.set(static_cast<std::size_t>(Fusable::permutation), fused);
    return layer_kernels(fixture.setting, LayerKind::experts);
  };
  const PassKernels apart = kernels(false);
  const PassKernels fused = kernels(true);
  check(added(apart.forward, fused.forward), 7, (4 + 10 - 8) * copies * hidden + 2 * 40 * copies);
  check(added(apart.input_grad, fused.input_grad), 8,
        (6 + 12 - 8) * copies * hidden + 2 * 40 * copies);
}

TEST_CASE("a layer norm and an activation without a gate are one kernel in any stack", "[stack]") {
  const config::Model model = mixture("layernorm", "gelu");
  const PassKernels apart = kernels_of(model, {Fusable::norm, Fusable::activation});
  const PassKernels fused = kernels_of(model, {});
  for (const auto pass : {&PassKernels::forward, &PassKernels::input_grad}) {
    CHECK((apart.*pass).size() == (fused.*pass).size());
    CHECK(bytes_of(apart.*pass) == bytes_of(fused.*pass));
  }
}

TEST_CASE("no layer of the library has fewer kernels or bytes without fusion", "[stack]") {
  for (const std::string& name : config::library_names("models", ".yaml")) {
    const config::Model model = library_model(name);
    for (const LayerKind kind : workload::kinds_of(model)) {
      const PassKernels fused = kernels_of(model, {}, kind);
      for (std::size_t group = 0; group < config::fusable_names.size(); ++group) {
        CAPTURE(name, workload::name_of(kind), config::fusable_names[group]);
        const PassKernels apart = kernels_of(model, {static_cast<Fusable>(group)}, kind);
        for (const auto pass : {&PassKernels::forward, &PassKernels::input_grad}) {
          const Added more = added(apart.*pass, fused.*pass);
          CHECK(more.kernels >= 0);
          CHECK(more.bytes >= 0);
        }
        CHECK(added(apart.weight_grad, fused.weight_grad).kernels == 0);
        CHECK(added(apart.weight_grad, fused.weight_grad).bytes == 0);
      }
    }
  }
}

TEST_CASE("products and attention do not depend on the fusion of small kernels", "[stack]") {
  const auto flops = [](std::initializer_list<Fusable> apart) {
    double sum = 0;
    for (const Kernel& kernel : kernels_of(mixture("rmsnorm", "swiglu"), apart).forward)
      sum += kernel.times * kernel.flops;
    return sum;
  };
  CHECK(flops({Fusable::norm, Fusable::activation, Fusable::rope, Fusable::residual,
               Fusable::cross_entropy, Fusable::permutation, Fusable::router}) == flops({}));
}

TEST_CASE("a softmax that is not fused adds a mask, limits and casts, each in a kernel",
          "[stack]") {
  const config::Model model = mixture("rmsnorm", "swiglu");
  const double scores = 1024.0 * 1024;  // of one head
  const auto passes = [&](const std::string& training, bool is_fused) {
    SettingFixture fixture(model, training, {});
    if (!is_fused) fixture.training.stack.fused.reset(static_cast<std::size_t>(Fusable::softmax));
    return layer_kernels(fixture.setting, LayerKind::experts);
  };
  const std::string half = "{flash_attention: false}";
  const PassKernels fused = passes(half, true);
  const PassKernels apart = passes(half, false);
  // Fused: 2 + 2 bytes per score. Apart: mask 4, limit 4, softmax to fp32 6, cast 6.
  check(added(apart.forward, fused.forward), 3, (20 - 4) * scores);
  // Fused: 6. Apart: cast 6, softmax 10, and for the limit two comparisons of 3 each, a product of
  // 4, a selection of 7 and a mask of 5.
  check(added(apart.input_grad, fused.input_grad), 6, (16 + 22 - 6) * scores);

  // In 32 bits Megatron-LM masks apart as well: mask 9, softmax 8; softmax 12 and mask 9 backward.
  const std::string wide = "{flash_attention: false, precision: fp32}";
  const PassKernels masked = passes(wide, true);
  const PassKernels limited = passes(wide, false);
  check(added(limited.forward, masked.forward), 1, (8 + 8 + 8 - 17) * scores);
  check(added(limited.input_grad, masked.input_grad), 4, (12 + 40 - 21) * scores);
}

TEST_CASE("in 32 bits no kernel casts, and all others move twice the bytes", "[stack]") {
  config::Model model = mixture("rmsnorm", "swiglu");
  model.dropout = 0;
  const auto kernels = [&](const std::string& precision, Fusable apart) {
    SettingFixture fixture(model, "{flash_attention: true, precision: " + precision + "}", {});
    fixture.training.stack.fused.reset(static_cast<std::size_t>(apart));
    return layer_kernels(fixture.setting, LayerKind::dense);
  };
  const auto bytes = [](const std::vector<Kernel>& pass, std::string_view name) {
    double sum = 0;
    for (const Kernel& kernel : pass)
      if (kernel.name == name) sum += kernel.bytes;
    return sum;
  };
  for (const char* const name : {"norm", "rotary", "activation", "add"}) {
    CAPTURE(name);
    const PassKernels half = kernels("bf16", Fusable::router);
    const PassKernels wide = kernels("tf32", Fusable::router);
    CHECK(bytes(half.forward, name) > 0);
    CHECK(bytes(wide.forward, name) == Approx(2 * bytes(half.forward, name)));
    CHECK(bytes(wide.input_grad, name) == Approx(2 * bytes(half.input_grad, name)));
  }
  // Without fusion an RMSNorm in fp32 squares (8), averages (4), scales (8) and multiplies (8).
  const PassKernels apart = kernels("fp32", Fusable::norm);
  CHECK(bytes(apart.forward, "norm") == Approx(2 * 28 * tokens * hidden));
}
