#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/precision.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using config::DataType;
using workload::Kernel;
using workload::LayerKind;
using workload::Part;

namespace {

// Sizes of Llama 3 8B, with a microbatch of one sample.
constexpr double tokens = 8192;
constexpr double hidden = 4096;
constexpr double kv = 1024;
constexpr double ffn = 14336;

// Types of the products of a part in a layer.
std::vector<DataType> types_of(const std::string& precision, const char* model, LayerKind kind,
                               Part part) {
  const SettingFixture fixture(library_model(model), "{precision: " + precision + "}", {});
  const workload::PassKernels kernels = layer_kernels(fixture.setting, kind);
  std::vector<DataType> types;
  for (const auto* const pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
    for (const Kernel& kernel : *pass)
      if (kernel.part == part && kernel.flops > 0) types.push_back(kernel.type);
  return types;
}

double bytes_of_casts(const std::vector<Kernel>& kernels, Part part) {
  double bytes = 0;
  for (const Kernel& kernel : kernels)
    if (kernel.part == part && kernel.name == "cast") bytes += kernel.bytes;
  return bytes;
}

workload::ActivationBytes layer_bytes_with(const std::string& precision) {
  const SettingFixture fixture(library_model("llama-3-8b"), "{precision: " + precision + "}", {});
  return workload::layer_bytes(fixture.setting, LayerKind::dense);
}

workload::DeviceState state_with(const std::string& training, std::uint32_t zero) {
  const SettingFixture fixture(library_model("llama-3-8b"), training, {});
  const workload::Parameters parameters = workload::stage_parameters(
      fixture.setting, {.layers = {0, 32}, .embedding = true, .head = true});
  return workload::state_of(parameters, fixture.training,
                            workload::zero_groups(parallel_of({.dp = 8, .zero = zero}), 0));
}

double gathered_with(const std::string& training) {
  const SettingFixture fixture(library_model("llama-3-8b"), training, {});
  return workload::gathered_bytes(workload::stage_parameters(fixture.setting, {.layers = {0, 32}}),
                                  fixture.training);
}

double seconds_with(const std::string& precision, const char* gpu, const char* model,
                    std::uint32_t layers) {
  SettingFixture fixture(library_model(model), "{precision: " + precision + "}", {});
  fixture.training.stack.attention = {config::AttentionKernel::cudnn};
  const workload::StageSums sums(fixture.setting, config::find_gpu(gpu), std::nullopt);
  return sums.total_seconds({.layers = {0, layers}});
}

}  // namespace

TEST_CASE("a map in which all modules have the recipe's type is the recipe", "[precision]") {
  const std::string equal =
      "{default: mxfp8, attention: bf16, qkv: mxfp8, proj: mxfp8, mlp: mxfp8, head: bf16}";
  CHECK(seconds_with(equal, "b200", "llama-3-8b", 32) ==
        seconds_with("mxfp8", "b200", "llama-3-8b", 32));
  CHECK(layer_bytes_with(equal).held == layer_bytes_with("mxfp8").held);
  CHECK(layer_bytes_with(equal).for_w == layer_bytes_with("mxfp8").for_w);
  for (const std::uint32_t zero : {0U, 1U, 3U})
    CHECK(state_with("{precision: " + equal + "}", zero).weights ==
          state_with("{precision: mxfp8}", zero).weights);
}

TEST_CASE("a module's type changes its products alone", "[precision]") {
  const auto types = [](Part part) {
    return types_of("{default: mxfp8, experts: nvfp4}", "qwen3-30b-a3b", LayerKind::experts, part);
  };
  CHECK(types(Part::expert_in) == std::vector(3, DataType::nvfp4));
  CHECK(types(Part::expert_out) == std::vector(3, DataType::nvfp4));
  CHECK(types(Part::qkv) == std::vector(3, DataType::mxfp8));
  CHECK(types(Part::projection) == std::vector(3, DataType::mxfp8));
  CHECK(types(Part::router) == std::vector(3, DataType::bf16));
  CHECK(types(Part::core_attention) == std::vector(2, DataType::bf16));
}

TEST_CASE("a layer with more modules in fewer bits takes less time", "[precision]") {
  const auto seconds = [](const std::string& precision) {
    return seconds_with(precision, "b200", "llama-3-70b", 80);
  };
  const double bf16 = seconds("bf16");
  const double mlp = seconds("{mlp: mxfp8}");
  const double all = seconds("mxfp8");
  const double attention = seconds("{default: mxfp8, attention: fp8}");
  CHECK(mlp < bf16);
  CHECK(all < mlp);
  CHECK(attention < all);
  // The gain of modules adds up, as each kernel has its own type.
  CHECK(bf16 - all == Approx(bf16 - mlp + bf16 - seconds("{default: mxfp8, mlp: bf16}")));
}

TEST_CASE("layers at the ends of the model stay in 16 bits", "[precision]") {
  const auto seconds = [](const std::string& precision, std::uint32_t layers) {
    return seconds_with(precision, "b200", "llama-3-70b", layers);
  };
  const std::string ends =
      "{default: mxfp8, num_layers_at_start_in_bf16: 2, num_layers_at_end_in_bf16: 3}";
  CHECK(seconds(ends, 2) == Approx(seconds("bf16", 2)));
  CHECK(seconds(ends, 80) - seconds(ends, 2) == Approx(seconds("mxfp8", 75) + seconds("bf16", 3)));
  const std::string all = "{default: mxfp8, attention: fp8, num_layers_at_start_in_bf16: 80}";
  CHECK(seconds(all, 80) == Approx(seconds("bf16", 80)));
  const SettingFixture fixture(library_model("llama-3-8b"), "{precision: " + ends + "}", {});
  const auto held = [&](std::uint32_t layer) {
    return workload::layer_bytes(fixture.setting, {0, 32}, layer).held;
  };
  CHECK(held(1) == layer_bytes_with("bf16").held);
  CHECK(held(2) == layer_bytes_with("mxfp8").held);
  CHECK(held(28) == layer_bytes_with("mxfp8").held);
  CHECK(held(29) == layer_bytes_with("bf16").held);
}

TEST_CASE("products save their inputs in their own type", "[precision]") {
  // Of a dense layer the inputs of qkv, the two products of the MLP; that of the output projection
  // is saved by attention in any case.
  const double in_bf16 = layer_bytes_with("bf16").held;
  CHECK(in_bf16 - layer_bytes_with("{mlp: fp8}").held == tokens * (hidden + ffn));
  CHECK(in_bf16 - layer_bytes_with("{qkv: fp8}").held == tokens * hidden);
  // With a scale per row, inputs are cast again for the gradient of the weights.
  CHECK(layer_bytes_with("fp8-row").held == in_bf16);
}

TEST_CASE("attention in FP8 casts and saves queries, keys and values in 8 bits", "[precision]") {
  const double inputs = tokens * (hidden + 2 * kv);
  const double in_bf16 = layer_bytes_with("mxfp8").held;
  CHECK(in_bf16 - layer_bytes_with("{default: mxfp8, attention: fp8}").held == inputs);
  // A scale per 32 elements needs a copy for each direction.
  CHECK(layer_bytes_with("{default: mxfp8, attention: mxfp8}").held - in_bf16 ==
        Approx(inputs * 2 / 32));
  const auto casts = [](const std::string& precision, bool forward) {
    const SettingFixture fixture(library_model("llama-3-8b"), "{precision: " + precision + "}", {});
    const auto kernels = layer_kernels(fixture.setting, LayerKind::dense);
    return bytes_of_casts(forward ? kernels.forward : kernels.input_grad, Part::core_attention);
  };
  CHECK(casts("mxfp8", true) == 0);
  CHECK(casts("{default: mxfp8, attention: fp8}", true) == inputs * (2 + 1));
  CHECK(casts("{default: mxfp8, attention: fp8}", false) == tokens * hidden * (2 + 1));
}

TEST_CASE("the rate of FP8 attention is that of the GPU's file for its type", "[precision]") {
  config::Gpu gpu = config::find_gpu("b200");
  gpu.kernel_overhead = 0;
  const std::array kernels{config::AttentionKernel::cudnn};
  Kernel kernel{.work = Kernel::Work::attention,
                .type = DataType::fp8,
                .flops = 1e12,
                .keys = 8192,
                .attention = kernels};
  const auto rate = [&] { return 1e12 / kernel_time(kernel, gpu).seconds; };
  const config::ScaledAttentionRates rates = *gpu.attention.cudnn->fp8;
  const double peak = gpu.products.fp8->flops * gpu.clock.attention;
  CHECK(rate() == Approx(peak * rates.forward * 8192 / (8192 + rates.half_length)));
  kernel.backward = true;
  CHECK(rate() == Approx(peak * rates.backward * 8192 / (8192 + *rates.backward_half_length)));
  kernel.is_uneven = true;
  CHECK(rate() ==
        Approx(peak * *rates.uneven_backward * 8192 / (8192 + *rates.backward_half_length)));
}

TEST_CASE("a scale per row casts both factors of each product", "[precision]") {
  const SettingFixture fixture(library_model("llama-3-8b"), "{precision: fp8-row}", {});
  const auto kernels = layer_kernels(fixture.setting, LayerKind::dense);
  const double weights = hidden * hidden;
  const double activations = tokens * hidden;
  // By rows 2 bytes are read and 1 is written, by columns 4 are read.
  CHECK(bytes_of_casts(kernels.forward, Part::projection) == 3 * activations + 3 * weights);
  CHECK(bytes_of_casts(kernels.input_grad, Part::projection) == 3 * activations + 5 * weights);
  CHECK(bytes_of_casts(kernels.weight_grad, Part::projection) == 2 * 5 * activations);
  // The norm before a product casts its result by rows.
  CHECK(bytes_of_casts(kernels.forward, Part::qkv) == 3 * hidden * (hidden + 2 * kv));
}

TEST_CASE("a router in 32 bits casts its input and weights", "[precision]") {
  const auto kernels = [](const std::string& precision) {
    const SettingFixture fixture(library_model("qwen3-30b-a3b"), "{precision: " + precision + "}",
                                 {});
    return layer_kernels(fixture.setting, LayerKind::experts);
  };
  const auto plain = kernels("mxfp8");
  const auto wide = kernels("{default: mxfp8, router: fp32}");
  const auto product = [](const workload::PassKernels& passes) {
    return *std::ranges::find_if(passes.forward, [](const Kernel& kernel) {
      return kernel.part == Part::router && kernel.flops > 0;
    });
  };
  CHECK(product(plain).type == DataType::bf16);
  CHECK(product(wide).type == DataType::fp32);
  CHECK(product(wide).bytes == 2 * product(plain).bytes);
  const SettingFixture fixture(library_model("qwen3-30b-a3b"), "{}", {});
  const double inputs = fixture.setting.sizes.tokens * 2048;
  CHECK(bytes_of_casts(wide.forward, Part::router) == 6 * (inputs + 2048 * 128));
}

TEST_CASE("weights of other types take their own copies", "[precision]") {
  const double mlp = 32 * 3 * hidden * ffn;
  const auto weights = [](const std::string& precision, std::uint32_t zero) {
    return static_cast<double>(state_with("{precision: " + precision + "}", zero).weights);
  };
  CHECK(weights("{mlp: fp8}", 1) - weights("bf16", 1) == 2 * mlp);
  CHECK(weights("fp8", 1) - weights("{default: fp8, mlp: bf16}", 1) == 2 * mlp);
  CHECK(weights("{default: fp8, head: fp8}", 1) - weights("fp8", 1) == 2 * hidden * 128'256);
  // Fully sharded weights are cast when they are gathered.
  CHECK(weights("{mlp: fp8}", 3) == weights("bf16", 3));
}

TEST_CASE("weights are gathered in the types of their modules", "[precision]") {
  const double mlp = 32 * 3 * hidden * ffn;
  const std::string gather = ", fp8_param_gather: true}";
  CHECK(gathered_with("{precision: {default: fp8, mlp: bf16}" + gather) -
            gathered_with("{precision: fp8" + gather) ==
        mlp);
  CHECK(gathered_with("{precision: bf16}") - gathered_with("{precision: {mlp: fp8}" + gather) ==
        mlp);
  CHECK(gathered_with("{precision: {mlp: fp8}}") == gathered_with("{precision: bf16}"));
}
