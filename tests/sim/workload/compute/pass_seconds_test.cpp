#include "sim/workload/compute/pass_seconds.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "sim/workload/compute/flops.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::LayerKind;
using workload::PassSeconds;

namespace {

// Returns a GPU on which every kernel reaches the peak rate and starts without delay.
config::Gpu ideal() {
  config::Gpu gpu{.name = "ideal",
                  .flops = 1e15,
                  .memory = 1,
                  .memory_bandwidth = 1e30,
                  .processors = 1,
                  .memory_efficiency = 1,
                  .kernel_overhead = 0};
  gpu.products.bf16 = config::Products{.flops = 1e15, .efficiency = 1, .wave = 0, .overhead = 0};
  gpu.products.fp8 = config::Products{.flops = 2e15, .efficiency = 1, .wave = 0, .overhead = 0};
  gpu.attention.fa2 = {.forward = 1, .backward = 1, .half_length = 0};
  gpu.attention.unfused = 1;
  return gpu;
}

}  // namespace

TEST_CASE("on an ideal GPU I and W of a layer take twice the forward's products", "[model]") {
  std::mt19937 random(3);
  const config::Gpu gpu = ideal();
  for (int i = 0; i < 100; ++i) {
    config::Model model = library_model(i % 2 == 0 ? "megatron-7.5b" : "llama-3-8b");
    model.hidden = 256 * pick(random, 8);
    model.heads = model.kv_heads = model.hidden / 128;
    model.head_dim = 128;
    model.ffn = 256 * pick(random, 16);
    const SettingFixture fixture(model, "{causal: false, sequence: 1024}", {});
    const auto seconds = layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels;
    const auto attention = attention_seconds(
        fixture.setting, layer_on_gpu(model, LayerKind::dense, fixture.setting.sizes).attention,
        gpu);
    // The backward pass of fused attention has five products instead of two, as it recomputes the
    // scores.
    REQUIRE(attention.input_grad == Approx(2.5 * attention.forward));
    REQUIRE(seconds.input_grad + seconds.weight_grad ==
            Approx(2 * seconds.forward + 0.5 * attention.forward));
    REQUIRE(seconds.weight_grad == Approx(seconds.forward - attention.forward));
    REQUIRE(seconds.forward * 1e15 ==
            Approx(workload::layer_flops(model, LayerKind::dense, 1, 1024,
                                         workload::AttentionPairs::full)));
  }
}

TEST_CASE("recomputation takes the time of the forward pass, or of its attention, once more",
          "[model]") {
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const config::Model model = library_model("megatron-22b");
  const auto seconds = [&](const std::string& recompute, bool flash) {
    const SettingFixture fixture(
        model,
        "{recompute: " + recompute + ", flash_attention: " + (flash ? "true" : "false") + "}",
        {.tp = 8});
    return layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels;
  };
  CHECK(seconds("none", false).recomputed == 0);
  CHECK(seconds("full", false).recomputed == Approx(seconds("none", false).forward));
  const double selective = seconds("selective", false).recomputed;
  CHECK(selective > 0);
  CHECK(selective < 0.5 * seconds("none", false).forward);
  // With flash attention no scores are stored. Selective recomputation then saves nothing, but
  // still takes time.
  CHECK(seconds("selective", true).recomputed > 0);
  CHECK(seconds("full", true).recomputed == Approx(seconds("none", true).forward));
}

TEST_CASE("causal flash attention takes half the time of the whole square", "[model]") {
  config::Gpu gpu = config::find_gpu("a100-80gb");
  gpu.kernel_overhead = 0;
  gpu.attention.fa2 = {.forward = 0.5, .backward = 0.5};
  const config::Model model = library_model("llama-3-8b");
  const auto seconds = [&](const std::string& training) {
    const SettingFixture fixture(model, training, {});
    return attention_seconds(fixture.setting,
                             layer_on_gpu(model, LayerKind::dense, fixture.setting.sizes).attention,
                             gpu);
  };
  CHECK(seconds("{causal: false}").forward == Approx(2 * seconds("{}").forward));
  CHECK(seconds("{}").input_grad == Approx(2.5 * seconds("{}").forward));
}

TEST_CASE("accumulating gradients after W costs reading and writing them", "[model]") {
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const config::Model model = library_model("megatron-22b");
  const SettingFixture fused(model, "{}", {.tp = 8});
  const SettingFixture apart(model, "{fused_accumulation: false}", {.tp = 8});
  const double extra_seconds =
      layer_seconds(apart.setting, LayerKind::dense, gpu).kernels.weight_grad -
      layer_seconds(fused.setting, LayerKind::dense, gpu).kernels.weight_grad;
  const double bytes = 12.0 * 6144 * 6144 / 8 * 10;
  CHECK(extra_seconds ==
        Approx(4 * gpu.kernel_overhead +
               bytes / (gpu.memory_bandwidth * gpu.memory_efficiency * gpu.clock.memory)));
}

TEST_CASE("a 22B layer on an A100 takes the measured time", "[model]") {
  // arXiv 2205.05198, table 4, measures 7.7 ms forward and 11.9 ms backward with tp 8. Both include
  // two all-reduces of 100 MB, which take about 0.87 ms each.
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const SettingFixture fixture(library_model("megatron-22b"),
                               "{microbatch_size: 4, flash_attention: false}", {.tp = 8});
  const auto seconds = layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels;
  CHECK(seconds.forward + 2 * 0.87e-3 == Approx(7.7e-3).epsilon(0.06));
  CHECK(seconds.input_grad + seconds.weight_grad + 2 * 0.87e-3 == Approx(11.9e-3).epsilon(0.08));
}

TEST_CASE("the host launches each kernel of a layer, or its graph", "[model]") {
  const config::Gpu gpu = ideal();
  const auto launches = [&](const std::string& graphs) {
    SettingFixture fixture(library_model("llama-3-8b"), "{cuda_graphs: " + graphs + "}", {});
    fixture.training.stack.host.kernel = 1;
    return layer_seconds(fixture.setting, LayerKind::dense, gpu).launches;
  };
  // The layer has two norms, four matrices, rotation, attention, two residuals and the activation
  // function.
  CHECK(launches("none").forward == 11);
  CHECK(launches("none").weight_grad == 4);
  CHECK(launches("layer").forward == 1);
  CHECK(launches("iteration").forward == 0);
  // A graph of attention holds its norm and residual, two matrices, rotation and the attention
  // kernel; a graph of the MLP holds the other five kernels. Both together are one graph.
  CHECK(launches("[attn]").forward == 1 + 5);
  CHECK(launches("[attn]").weight_grad == 1 + 2);
  CHECK(launches("[mlp]").forward == 1 + 6);
  CHECK(launches("[attn, mlp]").forward == 1);
  // CUDA graphs reduce the launches only; kernels on the GPU take as long as before.
  const SettingFixture fixture(library_model("llama-3-8b"), "{}", {});
  const double kernels = layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels.forward;
  CHECK(kernels > 0);
  CHECK(kernels < 1);
}

TEST_CASE("collectives take their own time of the host, which a launch factor scales", "[stack]") {
  config::Gpu gpu = ideal();
  const auto launches = [&](const std::string& graphs) {
    SettingFixture fixture(library_model("llama-3-8b"), "{cuda_graphs: " + graphs + "}", {.tp = 2});
    fixture.training.stack.host = {.kernel = 1, .collective = 100};
    return layer_seconds(fixture.setting, LayerKind::dense, gpu).launches;
  };
  // Tensor parallelism adds two all-reduces to each direction.
  CHECK(launches("none").forward == 11 + 2 * 100);
  CHECK(launches("none").weight_grad == 4);
  const double input_grad = launches("none").input_grad;
  CHECK(input_grad > 2 * 100);
  CHECK(launches("layer").forward == 1);
  // A graph of attention captures its all-reduce, but not that of the MLP.
  CHECK(launches("[attn]").forward == 1 + 5 + 100);
  gpu.launch_factor = 3;
  CHECK(launches("none").forward == 3 * (11 + 2 * 100));
  CHECK(launches("none").input_grad == 3 * input_grad);
  CHECK(launches("layer").forward == 3);
  CHECK(launches("iteration").forward == 0);
}

TEST_CASE("a recipe speeds up the products of layers and nothing else", "[model]") {
  const config::Gpu gpu = ideal();
  const auto seconds = [&](const std::string& precision) {
    const SettingFixture fixture(library_model("llama-3-8b"), "{precision: " + precision + "}", {});
    return layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels;
  };
  const PassSeconds wide = seconds("bf16");
  const PassSeconds narrow = seconds("fp8");
  CHECK(narrow.weight_grad == Approx(wide.weight_grad / 2));
  const SettingFixture fixture(library_model("llama-3-8b"), "{}", {});
  const PassSeconds attention = attention_seconds(
      fixture.setting,
      layer_on_gpu(fixture.model, LayerKind::dense, fixture.setting.sizes).attention, gpu);
  CHECK(narrow.forward - attention.forward == Approx((wide.forward - attention.forward) / 2));
  CHECK(narrow.input_grad - attention.input_grad ==
        Approx((wide.input_grad - attention.input_grad) / 2));
  CHECK_THROWS_WITH(seconds("nvfp4"), Catch::Contains("has no nvfp4 products"));
}

TEST_CASE("in TF32 all products run at the rate of TF32", "[model]") {
  config::Gpu gpu = ideal();
  gpu.products.tf32 = gpu.products.bf16;
  gpu.products.tf32->flops /= 4;
  const auto seconds = [&](const std::string& precision) {
    const SettingFixture fixture(library_model("llama-3-8b"),
                                 "{flash_attention: false, precision: " + precision + "}", {});
    return layer_seconds(fixture.setting, LayerKind::dense, gpu).kernels;
  };
  const PassSeconds half = seconds("bf16");
  const PassSeconds wide = seconds("tf32");
  CHECK(wide.forward == Approx(4 * half.forward));
  CHECK(wide.input_grad == Approx(4 * half.input_grad));
  CHECK(wide.weight_grad == Approx(4 * half.weight_grad));
  CHECK_THROWS_WITH(seconds("fp32"), Catch::Contains("has no fp32 products"));
}

TEST_CASE("the optimizer step takes its bytes over the memory bandwidth", "[model]") {
  config::Gpu gpu = ideal();
  gpu.memory_bandwidth = 1e9;
  CHECK(workload::optimizer_seconds(training_of("{}"), 1e6, gpu) == Approx(30e6 / 1e9));
  // Without fusion, seven operations of Adam move 72 instead of 28 bytes per parameter.
  config::Training apart = training_of("{}");
  apart.stack.fused.reset(static_cast<std::size_t>(config::Fusable::optimizer));
  CHECK(workload::optimizer_seconds(apart, 1e6, gpu) == Approx((30e6 + 44e6) / 1e9));
  // In 32 bits: gradients and weights read, weights written, two moments read and written.
  CHECK(workload::optimizer_seconds(training_of("{precision: fp32}"), 1e6, gpu) ==
        Approx((4 + 4 + 4 + 2 * 8) * 1e6 / 1e9));
  // The optimizer has gradients in bf16, moments in bf16 and fp8, and stores only the lower half of
  // each fp32 weight, beside the bf16 weight.
  const config::Training aware = training_of(
      "{optimizer: {exp_avg: bf16, exp_avg_sq: fp8, main_params: remainders, main_grads: bf16}}");
  CHECK(workload::optimizer_seconds(aware, 1e6, gpu) ==
        Approx((2 + 2 * (2 + 2 + 1) + 2 + 2) * 1e6 / 1e9));
}
