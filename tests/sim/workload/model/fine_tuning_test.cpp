#include "sim/workload/shape/fine_tuning.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/calls.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/state.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::Kernel;
using workload::LayerKind;
using workload::Part;

namespace {

// Sizes of Llama 3 70B.
constexpr double layers = 80;
constexpr double hidden = 8192;
constexpr double ffn = 28672;
constexpr double kv = 1024;
constexpr double vocabulary = 128256;
constexpr double matrices =
    layers * (hidden * (hidden + 2 * kv) + hidden * hidden + 3 * hidden * ffn) +
    hidden * vocabulary;

double flops_per_token(const std::string& training, double sequence) {
  return workload::training_flops(library_model("llama-3-70b"), training_of(training), 1,
                                  sequence) /
         sequence;
}

// FLOP of the scores in the forward and the backward pass, for a token that sees half of the keys.
double score_flops(double sequence) { return 3 * layers * 2 * 2 * (sequence / 2) * hidden; }

workload::ActivationBytes dense_bytes(const std::string& training, const Layout& layout = {}) {
  const SettingFixture fixture(library_model("llama-3-8b"), training, layout);
  return layer_bytes(fixture.setting, LayerKind::dense);
}

// Sizes of Llama 3 8B, with a microbatch of one sample.
constexpr double tokens = 8192;
constexpr double small_hidden = 4096;
constexpr double small_ffn = 14336;
constexpr double small_qkv = 6144;

std::size_t products(const std::vector<Kernel>& kernels) {
  return static_cast<std::size_t>(
      std::ranges::count(kernels, Kernel::Work::product, &Kernel::work));
}

double bytes_of(const std::vector<Kernel>& kernels, std::string_view name) {
  double bytes = 0;
  for (const Kernel& kernel : kernels)
    if (kernel.name == name) bytes += kernel.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("LoRA of a 70B takes 4 FLOP per frozen weight, and training of all weights 6",
          "[fine tuning]") {
  // The FLOP per token of Megatron-Bridge's tables: 432 billion in full fine-tuning with sequences
  // of 4,096 tokens, and 278.8 billion with adapters, where documents are short.
  CHECK(flops_per_token("{}", 4096) == Approx(6 * matrices + score_flops(4096)));
  CHECK(flops_per_token("{}", 4096) == Approx(432e9).epsilon(0.005));
  const std::string lora = "{lora: {rank: 16, modules: [linear_qkv]}}";
  const double adapters = 6 * layers * 16 * (hidden + hidden + 2 * kv);
  CHECK(flops_per_token(lora, 4096) == Approx(4 * matrices + adapters + score_flops(4096)));
  CHECK(flops_per_token(lora, 180) == Approx(278.8e9).epsilon(0.002));
}

TEST_CASE("without frozen weights, training takes three forward passes", "[fine tuning]") {
  for (const char* const name : {"llama-3-8b", "qwen3-30b-a3b", "moonlight-16b"}) {
    const config::Model model = library_model(name);
    CHECK(workload::training_flops(model, training_of("{}"), 2, 4096) ==
          3 * workload::forward_flops(model, 2, 4096));
    // With the head alone trained, the backward pass ends there.
    const double frozen = workload::training_flops(
        model, training_of("{frozen: [embedding, attention, mlp, experts, router, norms]}"), 2,
        4096);
    CHECK(frozen > workload::forward_flops(model, 2, 4096));
    CHECK(frozen < 1.25 * workload::forward_flops(model, 2, 4096));
  }
}

TEST_CASE("only adapters have gradients and optimizer state", "[fine tuning]") {
  const config::Model model = library_model("llama-3-70b");
  const auto whole =
      workload::whole_parameters(model, training_of("{lora: {rank: 16, modules: [linear_qkv]}}"));
  constexpr std::uint64_t adapters = 80ULL * 16 * (8192 + 10240);
  CHECK(whole.trained().total() == adapters);
  CHECK(whole.total() == workload::parameter_count(model) + adapters);
  const auto state = workload::state_of(whole, training_of("{lora: {}}"), {});
  CHECK(state.gradients == 4 * adapters);
  CHECK(state.optimizer == 12 * adapters);
  CHECK(state.weights == 2 * whole.total());
  const auto all = workload::whole_parameters(model, training_of("{}"));
  CHECK(all.frozen() == 0);
  CHECK(all.total() == workload::parameter_count(model));
}

TEST_CASE("adapters of separate projections have a matrix A each", "[fine tuning]") {
  const config::Model model = library_model("llama-3-8b");
  const auto trained = [&](const std::string& modules) {
    return workload::whole_parameters(model,
                                      training_of("{lora: {rank: 8, modules: [" + modules + "]}}"))
        .trained()
        .total();
  };
  CHECK(trained("q_proj") == 32ULL * 8 * (4096 + 4096));
  CHECK(trained("v_proj") == 32ULL * 8 * (4096 + 1024));
  CHECK(trained("q_proj, k_proj, v_proj") == 32ULL * 8 * (3 * 4096 + 6144));
  CHECK(trained("linear_qkv") == 32ULL * 8 * (4096 + 6144));
  CHECK(trained("gate_proj, up_proj") == 32ULL * 8 * 2 * (4096 + 14336));
  CHECK(trained("linear_fc1, linear_fc2") == 32ULL * 8 * (4096 + 2 * 14336 + 14336 + 4096));
}

TEST_CASE("experts have one adapter each, one for all, or none", "[fine tuning]") {
  const config::Model model = library_model("qwen3-30b-a3b");
  const auto trained = [&](const std::string& experts) {
    return workload::whole_parameters(model, training_of("{lora: {rank: 8, modules: [linear_fc1, "
                                                         "linear_fc2], experts: " +
                                                         experts + "}}"))
        .trained();
  };
  constexpr std::uint64_t one = 48ULL * 8 * (2048 + 2 * 768 + 768 + 2048);
  CHECK(trained("each").experts == 128 * one);
  CHECK(trained("each").dense == 0);
  CHECK(trained("shared").dense == one);
  CHECK(trained("none").total() == 0);
}

TEST_CASE("a frozen group of weights has no gradients", "[fine tuning]") {
  const config::Model model = library_model("llama-3-8b");
  const auto trained = [&](const std::string& groups) {
    return workload::whole_parameters(model, training_of("{frozen: [" + groups + "]}"))
        .trained()
        .total();
  };
  const std::uint64_t all = workload::parameter_count(model);
  CHECK(trained("embedding") == all - 128256ULL * 4096);
  CHECK(trained("mlp") == all - 32ULL * 3 * 4096 * 14336);
  CHECK(trained("attention") == all - 32ULL * 4096 * (6144 + 4096));
  const SettingFixture frozen(model, "{frozen: [mlp]}", {});
  const auto kernels = layer_kernels(frozen.setting, LayerKind::dense);
  CHECK(products(kernels.weight_grad) == 2);
  CHECK(std::ranges::none_of(kernels.weight_grad,
                             [](const Kernel& kernel) { return kernel.part >= Part::mlp_in; }));
}

TEST_CASE("an adapter launches two products, a scale and an addition", "[fine tuning]") {
  const SettingFixture plain(library_model("llama-3-8b"), "{}", {});
  const SettingFixture lora(library_model("llama-3-8b"),
                            "{lora: {rank: 16, modules: [linear_qkv]}}", {});
  const auto without = layer_kernels(plain.setting, LayerKind::dense);
  const auto with = layer_kernels(lora.setting, LayerKind::dense);
  CHECK(with.forward.size() == without.forward.size() + 4);
  CHECK(products(with.forward) == products(without.forward) + 2);
  CHECK(products(with.input_grad) == products(without.input_grad) + 2);
  CHECK(products(with.weight_grad) == 2);
  CHECK(bytes_of(with.forward, "adapter add") == 6 * tokens * small_qkv);
  for (const Kernel& kernel : with.weight_grad) CHECK(kernel.name.starts_with("adapter "));
}

TEST_CASE("adapters compute in 16 bits beside products in fp8", "[fine tuning]") {
  const SettingFixture lora(library_model("llama-3-8b"),
                            "{precision: fp8, lora: {rank: 16, modules: [linear_qkv]}}", {});
  const auto kernels = layer_kernels(lora.setting, LayerKind::dense);
  for (const Kernel& kernel : kernels.forward)
    if (kernel.work == Kernel::Work::product)
      CHECK((kernel.type == config::DataType::bf16) == kernel.name.starts_with("adapter "));
}

TEST_CASE("frozen products save no inputs, and adapters save theirs in 16 bits", "[fine tuning]") {
  const double all = dense_bytes("{}").held;
  // Without adapters on them, products lose the results of both norms and of the activation
  // function. The result of attention stays, which attention itself needs.
  const double lora = dense_bytes("{lora: {rank: 16, modules: [linear_qkv]}}").held;
  CHECK(all - lora == 2 * tokens * (small_hidden + small_ffn) - 2 * tokens * 16);
  const double output = dense_bytes("{lora: {rank: 16, modules: [linear_proj]}}").held;
  CHECK(all - output == 2 * tokens * (2 * small_hidden + small_ffn) - 2 * tokens * 16);
  const double four = dense_bytes("{lora: {rank: 16}}").held;
  CHECK(four - all == 4 * 2 * tokens * 16);
  const double fp8 = dense_bytes("{precision: fp8, lora: {rank: 16}}").held;
  CHECK(fp8 == four);
}

TEST_CASE("dropout before adapters saves each adapter's input and a mask", "[fine tuning]") {
  const std::string modules = "modules: [q_proj, v_proj]";
  const double plain = dense_bytes("{lora: {rank: 16, " + modules + "}}").held;
  const double dropped = dense_bytes("{lora: {rank: 16, dropout: 0.05, " + modules + "}}").held;
  CHECK(dropped - plain == tokens * small_hidden * (2 * 3 - 2));
}

TEST_CASE("weight gradients of adapters alone wait between I and W", "[fine tuning]") {
  const double w = dense_bytes("{lora: {rank: 16, modules: [linear_qkv]}}").for_w;
  CHECK(w == 2 * tokens * (small_hidden + small_qkv));
  CHECK(w < dense_bytes("{}").for_w);
}

TEST_CASE("the lowest layer computes no gradients below its first adapter", "[fine tuning]") {
  const auto remaining = [](const std::string& training) {
    const SettingFixture fixture(library_model("llama-3-8b"), training, {});
    auto kernels = layer_kernels(fixture.setting, LayerKind::dense).input_grad;
    drop_lowest_gradients(fixture.training, kernels);
    return kernels;
  };
  // Of the first product only the gradient of B's input remains, and of the norm before it nothing.
  const auto qkv = remaining("{lora: {rank: 16, modules: [linear_qkv]}}");
  CHECK(qkv.front().name == "adapter scale");
  CHECK(products(qkv) == 3 + 1);
  // Nothing below the last product of an MLP has a gradient.
  const auto fc2 = remaining("{lora: {rank: 16, modules: [linear_fc2]}}");
  CHECK(products(fc2) == 1);
  CHECK(
      std::ranges::none_of(fc2, [](const Kernel& kernel) { return kernel.part < Part::residual; }));
  // The first norm that is trained needs the gradients of all that follows it.
  const auto norms = remaining("{frozen: [embedding]}");
  CHECK(products(norms) == 4);
  CHECK(norms.front().name == "norm");
  // Trained weights above frozen ones need the gradient of their own result alone.
  const auto mlp = remaining("{frozen: [embedding, attention, norms]}");
  CHECK(products(mlp) == 1);
  CHECK(workload::lacks_lowest_gradients(training_of("{frozen: [embedding]}")));
  CHECK_FALSE(workload::lacks_lowest_gradients(training_of("{frozen: [mlp]}")));
  CHECK_FALSE(workload::lacks_lowest_gradients(training_of("{lora: {}, recompute: full}")));
}

TEST_CASE("frozen weights in 4 bits are dequantized before each product", "[fine tuning]") {
  const config::Model model = library_model("llama-3-8b");
  constexpr double nf4 = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
  const SettingFixture fixture(model, "{lora: {rank: 16, base: nf4}}", {});
  const double of_layer = small_hidden * (small_qkv + small_hidden) + 3 * small_hidden * small_ffn;
  const auto kernels = layer_kernels(fixture.setting, LayerKind::dense);
  CHECK(bytes_of(kernels.forward, "dequantize") == Approx(of_layer * (2 + nf4)));
  CHECK(bytes_of(kernels.input_grad, "dequantize") == Approx(of_layer * (2 + nf4)));
  const auto whole = workload::whole_parameters(model, fixture.training);
  const double vocabulary_bytes = 2.0 * 2 * 128256 * small_hidden;
  const double others = static_cast<double>(whole.frozen()) - 2.0 * 128256 * small_hidden;
  const double adapters = 2.0 * static_cast<double>(whole.trained().total());
  const auto state = workload::state_of(whole, fixture.training, {});
  CHECK(static_cast<double>(state.weights) ==
        Approx(vocabulary_bytes + nf4 * others + adapters).epsilon(1e-6));
  // The largest matrix is that of gate and up-projection.
  CHECK(workload::dequantized_bytes(fixture.setting, LayerKind::dense) ==
        2 * small_hidden * 2 * small_ffn);
}

TEST_CASE("tensor parallelism gathers inputs of frozen products once", "[fine tuning]") {
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  const workload::StageParts stage{.layers = {1, 1}, .receives = true, .sends = true};
  const auto gathers = [&](const std::string& training, bool overlaps) {
    const SettingFixture fixture(library_model("llama-3-8b"), training,
                                 {.tp = 2, .sequence = true});
    config::Communication communication;
    communication.tp_comm_overlap = overlaps;
    const auto traffic = stage_calls(fixture.setting, stage, gpu, communication);
    std::uint32_t count = 0;
    for (const workload::Call& call : traffic[schedules::PassKind::backward])
      if (call.collective.kind == workload::Collective::all_gather) count += call.times;
    return count;
  };
  // Of both pairs of products: inputs for weight gradients, and gradients of results.
  CHECK(gathers("{}", false) == 4);
  CHECK(gathers("{lora: {rank: 16, modules: [linear_qkv]}}", false) == 2);
}

TEST_CASE("the host launches the operations around an adapter's products faster than its products",
          "[fine tuning]") {
  const auto launches_of = [](const std::string& training) {
    const SettingFixture fixture(library_model("llama-3-8b"), training, {});
    const auto kernels = layer_kernels(fixture.setting, LayerKind::dense);
    return std::array{launches(kernels.forward), launches(kernels.input_grad),
                      launches(kernels.weight_grad)};
  };
  const auto plain =
      launches_of("{frozen: [embedding, attention, mlp, experts, router, norms, head]}");
  const auto adapted = launches_of("{lora: {modules: [linear_qkv, linear_fc2], dropout: 0.1}}");
  for (const std::size_t pass : {0U, 1U, 2U}) {
    // Products with A and B in each pass, of two adapters.
    CHECK(adapted[pass].kernels - plain[pass].kernels == 4);
    // Dropout, scale and addition, and their gradients.
    CHECK(adapted[pass].operations - plain[pass].operations == (pass == 2 ? 0 : 6));
  }
}

namespace {

const std::string all_but_head = "{frozen: [embedding, attention, mlp, experts, router, norms]}";

workload::PartSeconds seconds_of(const std::string& training, const workload::StageParts& stage,
                                 const std::string& model = "llama-3-8b") {
  const SettingFixture fixture(library_model(model), training, {});
  return workload::StageSums(fixture.setting, config::find_gpu("h100-sxm"), std::nullopt)
      .seconds_of(stage);
}

}  // namespace

TEST_CASE("training of the head alone has no backward pass below it", "[fine tuning]") {
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  const SettingFixture fixture(library_model("llama-3-8b"), all_but_head, {});
  CHECK(workload::layers_below_training(fixture.setting) == 32);
  const workload::StageParts whole{.layers = {0, 32}, .embedding = true, .head = true};
  const workload::PassSeconds kernels = seconds_of(all_but_head, whole).kernels;
  const workload::PassSeconds head = head_seconds(fixture.setting, gpu).kernels;
  CHECK(kernels.weight_grad == Approx(head.weight_grad));
  // Of the head's I the gradient of the loss alone remains.
  CHECK(kernels.input_grad > 0);
  CHECK(kernels.input_grad < head.input_grad - head.forward / 4);
  // FLOP: forward everywhere, and once more in the output matrix.
  constexpr double head_matrix = 4096.0 * 128256;
  constexpr double samples = 1;
  const config::Model model = library_model("llama-3-8b");
  CHECK(workload::training_flops(model, fixture.training, samples, tokens) ==
        Approx(workload::forward_flops(model, samples, tokens) + 2 * head_matrix * tokens));
  CHECK(layer_bytes(fixture.setting, {0, 32}, 31).held == 0);
}

TEST_CASE("later stages compute gradients of their inputs whatever they train", "[fine tuning]") {
  const workload::StageParts first{.layers = {0, 16}, .embedding = true, .sends = true};
  const workload::StageParts last{.layers = {16, 16}, .head = true, .receives = true};
  const workload::PassSeconds below = seconds_of(all_but_head, first).kernels;
  CHECK(below.backward() == Approx(0).margin(1e-12));
  CHECK(below.forward > 0);
  // A frozen layer's products for gradients of inputs take as long as its forward pass.
  const workload::PassSeconds above = seconds_of(all_but_head, last).kernels;
  CHECK(above.input_grad > 0.9 * above.forward);
}

TEST_CASE("the backward pass stops at the first layer that trains something", "[fine tuning]") {
  // The first layer of Moonlight is dense and has no experts.
  const std::string experts_alone = "{frozen: [embedding, attention, mlp, router, norms, head]}";
  const SettingFixture fixture(library_model("moonlight-16b"), experts_alone, {});
  CHECK(workload::layers_below_training(fixture.setting) == 1);
  const auto backward = [&](const std::string& training, std::uint32_t count) {
    return seconds_of(training, {.layers = {0, count}, .embedding = true}, "moonlight-16b")
        .kernels.backward();
  };
  CHECK(backward(experts_alone, 1) == Approx(0).margin(1e-12));
  // The second layer has no gradients below its experts, the third all of them.
  const double second = backward(experts_alone, 2);
  const double third = backward(experts_alone, 3) - second;
  CHECK(second > 0);
  CHECK(second < third);
  CHECK(backward(experts_alone, 4) - backward(experts_alone, 3) == Approx(third));
  // A checkpoint asks for the gradient of its input.
  const SettingFixture full(library_model("llama-3-8b"),
                            "{recompute: full, " + all_but_head.substr(1), {});
  CHECK(workload::layers_below_training(full.setting) == 0);
}

TEST_CASE("no collectives reduce gradients below a head that alone is trained", "[fine tuning]") {
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  const workload::StageParts whole{.layers = {0, 32}, .embedding = true, .head = true};
  const SettingFixture fixture(library_model("llama-3-8b"), all_but_head,
                               {.tp = 2, .sequence = true});
  const auto traffic = stage_calls(fixture.setting, whole, gpu, {});
  // The hidden states are gathered for the gradient of the output matrix.
  const auto& backward = traffic[schedules::PassKind::backward];
  REQUIRE(backward.size() == 1);
  CHECK(backward.front().collective.kind == workload::Collective::all_gather);
  CHECK(backward.front().times == 1);
}
