#include "sim/workload/compute/kernels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <catch2/catch.hpp>

#include "sim/workload/compute/assumed.hpp"
#include "sim/workload/compute/efficiency.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using workload::Kernel;
using workload::Part;

namespace {

// A model layer with eight experts of 64 x 96, two of which process each of 1,024 tokens.
const std::string mixture =
    "{name: m, layers: 1, hidden: 64, heads: 1, ffn: 96, mlp: swiglu, vocabulary: 100, "
    "sequence: 1024, experts: {count: 8, top_k: 2, ffn: 96}}";

constexpr double host_time = 125e-6;  // for a kernel

workload::PassKernels kernels_of(std::uint32_t ep, const std::string& training,
                                 std::uint64_t expert_workspace) {
  SettingFixture fixture(model_of(mixture), training, {.ep = ep, .dp = ep});
  fixture.training.stack.host.kernel = host_time;
  fixture.training.stack.memory.expert_workspace = expert_workspace;
  return layer_kernels(fixture.setting, workload::LayerKind::experts);
}

std::vector<Kernel> forward_of(std::uint32_t ep, const std::string& training = "{}") {
  return kernels_of(ep, training, 0).forward;
}

// Kernels of a stack whose products of experts are launched one by one.
workload::PassKernels by_expert(std::uint32_t ep, const std::string& training = "{}") {
  return kernels_of(ep, training, 1);
}

Kernel only_kernel(const std::vector<Kernel>& kernels, Part part, std::string_view name) {
  const auto matches = [&](const Kernel& kernel) {
    return kernel.part == part && kernel.name == name;
  };
  REQUIRE(std::ranges::count_if(kernels, matches) == 1);
  return *std::ranges::find_if(kernels, matches);
}

}  // namespace

TEST_CASE("several experts on a GPU are one grouped product, a single expert is a product",
          "[model]") {
  const std::vector<Kernel> kernels = forward_of(2);
  // A rank has 4 of 8 experts. It receives as many tokens as it sends, 2 x 1,024, so each expert
  // gets 512.
  const Kernel in = only_kernel(kernels, Part::expert_in, "grouped");
  CHECK(in.work == Kernel::Work::grouped);
  CHECK(in.count == 4);
  CHECK(in.rows == 512);
  CHECK(in.columns == 2 * 96);
  CHECK(in.inner == 64);
  CHECK(only_kernel(kernels, Part::expert_out, "grouped").flops == 2.0 * 4 * 512 * 96 * 64);
  // Bytes read and written by permutation, activation and unpermutation, with 2 bytes per element.
  CHECK(only_kernel(kernels, Part::permute, "permute").bytes == 4.0 * (2048 + 2048) * 64);
  CHECK(only_kernel(kernels, Part::expert_activation, "activation").bytes == 6.0 * 2048 * 96);
  CHECK(only_kernel(kernels, Part::unpermute, "unpermute").bytes == 4.0 * (2048 + 2048) * 64);
  const Kernel alone = only_kernel(forward_of(8), Part::expert_in, "product");
  CHECK(alone.work == Kernel::Work::product);
  CHECK(alone.rows == 2048);
}

TEST_CASE("allgather gathers tokens for ranks that share an expert in the call over ep",
          "[model]") {
  const auto collectives = [](const std::string& dispatcher) {
    const SettingFixture fixture(model_of(mixture), "{experts: {dispatcher: " + dispatcher + "}}",
                                 {.tp = 2, .sequence = true, .ep = 2, .etp = 2, .dp = 2});
    const auto kernels = layer_kernels(fixture.setting, workload::LayerKind::experts);
    const auto count = [](const std::vector<Kernel>& pass) {
      return std::ranges::count_if(pass, [](const Kernel& kernel) {
        return kernel.work == Kernel::Work::collective && kernel.part >= Part::permute;
      });
    };
    return std::pair(count(kernels.forward), count(kernels.input_grad));
  };
  // All-to-all, all-gather, reduce-scatter, all-to-all; backward passes undo the same calls.
  CHECK(collectives("alltoall") == std::pair<long, long>{4, 4});
  CHECK(collectives("allgather") == std::pair<long, long>{2, 2});
}

TEST_CASE("Transformer Engine casts the tokens of each expert on their own, in a loop", "[model]") {
  const auto cast_of = [](std::uint32_t ep, const std::string& training) {
    return only_kernel(by_expert(ep, training).forward, Part::expert_out, "cast");
  };
  // A rank has 4 of 8 experts. Each takes three launches in fp8: largest value, scale and cast.
  const Kernel cast = cast_of(2, "{precision: fp8}");
  CHECK(cast.looped == 4 * 3 - 1);
  CHECK(cast_of(2, "{precision: mxfp8}").looped == 4 - 1);
  CHECK(cast_of(2, "{precision: nvfp4}").looped == 0);
  CHECK(cast_of(8, "{precision: fp8}").looped == 0);
  CHECK(only_kernel(forward_of(2, "{precision: fp8}"), Part::expert_out, "cast").looped == 0);
  CHECK(only_kernel(by_expert(2, "{precision: fp8}").forward, Part::projection, "cast").looped ==
        0);
  CHECK(only_kernel(by_expert(2, "{precision: fp8, experts: {op_fuser: true}}").forward,
                    Part::expert_in, "cast")
            .looped == 0);
  const config::Gpu gpu = config::find_gpu("h100-sxm");
  Kernel alone = cast;
  alone.looped = 0;
  CHECK(kernel_time(cast, gpu).seconds - kernel_time(alone, gpu).seconds ==
        Approx(11 * gpu.kernel_overhead));
  config::Training training;
  training.stack.host.kernel = host_time;
  training.stack.host.loop = 25e-6;
  const auto host_seconds = [&](const Kernel& kernel) {
    return launch_seconds(training, workload::launches({kernel}), gpu);
  };
  CHECK(host_seconds(alone) == Approx(host_time));
  CHECK(host_seconds(cast) == Approx(host_time + 11 * 25e-6));
  Kernel captured = cast;
  captured.captured = true;
  CHECK(host_seconds(captured) == Approx(host_time));
}

TEST_CASE("Transformer Engine launches the products of experts one by one", "[model]") {
  const auto launches_of = [](const workload::PassKernels& kernels) {
    std::array<std::uint32_t, 3> launches{};
    std::ranges::transform(
        std::array{&kernels.forward, &kernels.input_grad, &kernels.weight_grad}, launches.begin(),
        [](const auto* pass) { return 1 + only_kernel(*pass, Part::expert_in, "grouped").looped; });
    return launches;
  };
  // 4 of 8 experts are on a rank. A weight gradient also calls a hook for each weight.
  CHECK(launches_of(by_expert(2)) == std::array<std::uint32_t, 3>{4, 4, 8});
  CHECK(launches_of(by_expert(2, "{experts: {op_fuser: true}}")) ==
        std::array<std::uint32_t, 3>{1, 1, 1});
  // A stack without workspaces for such products has one kernel for all experts of a rank.
  CHECK(only_kernel(forward_of(2), Part::expert_in, "grouped").looped == 0);
}

TEST_CASE("tensors that tp gathers and sums along a second dimension are copied once more",
          "[model]") {
  // 64 tokens of 32 elements in 16 bits are read and written: before both first products and after
  // both last ones in the forward pass, and the other way round for gradients.
  const std::string dense =
      "{name: m, layers: 1, hidden: 32, heads: 2, ffn: 48, vocabulary: 100, sequence: 64}";
  const Layout layout{.tp = 2, .sequence = true};
  const auto copies = [&](const workload::ModelSetting& setting) {
    const workload::PassKernels kernels = layer_kernels(setting, workload::LayerKind::dense);
    std::array<double, 2> bytes{};
    for (const auto& [pass, sum] :
         {std::pair{&kernels.forward, &bytes[0]}, std::pair{&kernels.input_grad, &bytes[1]}})
      for (const Kernel& kernel : *pass)
        if (kernel.name == "copy") *sum += kernel.bytes;
    return bytes;
  };
  const double once = 4.0 * 64 * 32;
  const SettingFixture first(model_of(dense), "{}", layout);
  CHECK(copies(first.setting) == std::array<double, 2>{});
  SettingFixture second(model_of(dense), "{tensor_format: bshd}", layout);
  CHECK(copies(second.setting) == std::array{4 * once, 4 * once});
  // Overlapped with products, only sums cost memory traffic: 2 bytes for the parts of both ranks
  // and 1 for their sum. The gradient of an input of several products is still copied.
  const config::Communication parts{.tp_comm_overlap = true};
  second.setting.sizes =
      workload::sizes_of(second.model, second.training, parallel_of(layout), parts);
  CHECK(copies(second.setting) == std::array{2 * once * 3 / 4, 2 * once});
  const SettingFixture whole(model_of(dense), "{tensor_format: bshd}", {.tp = 2});
  CHECK(copies(whole.setting) == std::array<double, 2>{});
}

TEST_CASE("the GPU waits for launches when the host reads how many tokens experts get", "[model]") {
  // After the copy to the host, the GPU idles until tokens are permuted and sent. If it has all
  // experts, it idles until the first product.
  const auto copy_of = [](std::uint32_t ep, const std::string& training = "{}") {
    return only_kernel(forward_of(ep, training), Part::router, "copy to host");
  };
  CHECK(copy_of(2).stall_s == Approx(2 * host_time));
  const Kernel copy = copy_of(1);
  CHECK(copy.stall_s == Approx(2 * host_time));
  config::Gpu gpu = config::find_gpu("h100-sxm");
  const double waited = kernel_time(copy, gpu).seconds;
  CHECK(kernel_time(copy, gpu).bound == workload::Bound::host);
  // A host that takes three times as long makes the GPU wait twice as long in addition.
  gpu.launch_factor = 3;
  CHECK(kernel_time(copy, gpu).seconds - waited == Approx(2 * 2 * host_time));
  CHECK(copy_of(2, "{cuda_graphs: iteration}").stall_s == 0);
  CHECK(copy_of(2, "{cuda_graphs: layer}").stall_s == Approx(2 * host_time));
  CHECK(copy_of(2, "{cuda_graphs: [attn, moe]}").stall_s == 0);
  CHECK(copy_of(2, "{cuda_graphs: [moe_router]}").stall_s == Approx(2 * host_time));
  // The graph of the preprocessing has permuted the tokens before the host waits.
  const std::string preprocess = "cuda_graphs: [moe_router, moe_preprocess]";
  CHECK(copy_of(2, "{" + preprocess + "}").stall_s == Approx(host_time));
  CHECK(copy_of(2, "{" + preprocess + ", experts: {dispatcher: deepep}}").stall_s ==
        Approx(2 * host_time));
}

TEST_CASE("graphs of modules capture the kernels of Megatron-LM's modules", "[model]") {
  const auto is_captured = [](const std::string& training, Part part, std::string_view name) {
    return only_kernel(forward_of(2, training), part, name).captured;
  };
  const std::string router = "{cuda_graphs: [moe_router]}";
  CHECK_FALSE(is_captured("{}", Part::router, "product"));
  CHECK(is_captured(router, Part::mlp_norm, "norm"));
  CHECK(is_captured(router, Part::router, "product"));
  CHECK(is_captured(router, Part::router, "scores"));
  CHECK_FALSE(is_captured(router, Part::permute, "permute"));
  CHECK_FALSE(is_captured(router, Part::core_attention, "attention"));
  // Only the dispatcher alltoall permutes tokens before it sends them. No graph of a part of the
  // experts contains the copy to the host or collectives.
  const std::string modules = "cuda_graphs: [attn, moe_router, moe_preprocess]";
  CHECK(is_captured("{" + modules + "}", Part::permute, "permute"));
  CHECK_FALSE(is_captured("{" + modules + "}", Part::permute, "all-to-all"));
  CHECK_FALSE(is_captured("{" + modules + "}", Part::router, "copy to host"));
  CHECK_FALSE(is_captured("{" + modules + "}", Part::expert_in, "grouped"));
  CHECK_FALSE(
      is_captured("{" + modules + ", experts: {dispatcher: hybridep}}", Part::permute, "permute"));
  CHECK(is_captured("{cuda_graphs: [moe]}", Part::expert_in, "grouped"));
  CHECK(is_captured("{cuda_graphs: [moe]}", Part::permute, "all-to-all"));
  CHECK_FALSE(is_captured("{cuda_graphs: [moe]}", Part::core_attention, "attention"));
  // The residual after attention belongs to attention, the second one to the experts.
  std::vector<bool> residuals;
  for (const Kernel& kernel : forward_of(2, "{" + modules + "}"))
    if (kernel.part == Part::residual) residuals.push_back(kernel.captured);
  CHECK(residuals == std::vector{true, false});
}

TEST_CASE("the router's graph captures shared experts unless dispatch overlaps them", "[model]") {
  const auto is_captured = [](const std::string& experts) {
    const SettingFixture fixture(library_model("deepseek-v3"),
                                 "{cuda_graphs: [moe_router], experts: {" + experts + "}}",
                                 {.ep = 8, .dp = 8});
    const auto kernels = layer_kernels(fixture.setting, workload::LayerKind::experts);
    return only_kernel(kernels.forward, Part::shared_in, "product").captured;
  };
  CHECK(is_captured(""));
  CHECK_FALSE(is_captured("shared_overlap: true"));
}

TEST_CASE("mamba captures Mamba-2 layers and attn gated delta nets", "[model]") {
  using workload::LayerKind;
  const auto launches = [](const char* model, const std::string& modules, LayerKind kind) {
    const SettingFixture fixture(library_model(model), "{cuda_graphs: " + modules + "}", {});
    return workload::launches(layer_kernels(fixture.setting, kind).forward);
  };
  const char* const hybrid = "nemotron-3-nano-30b-a3b";
  CHECK(launches(hybrid, "[mamba]", LayerKind::mamba).kernels == 0);
  CHECK(launches(hybrid, "[mamba]", LayerKind::mamba).graphs() == 1);
  CHECK(launches(hybrid, "[attn]", LayerKind::mamba).captured == 0);
  CHECK(launches(hybrid, "[mamba]", LayerKind::attention).captured == 0);
  CHECK(launches(hybrid, "[attn]", LayerKind::attention).kernels == 0);
  CHECK(launches("qwen3-next-80b-a3b", "[attn]", LayerKind::linear_experts).captured > 0);
}

TEST_CASE("fused operations include activation, casts and biases in the experts' products",
          "[model]") {
  const auto kernels = [](const std::string& experts) {
    const SettingFixture fixture(model_of(mixture), "{precision: fp8, experts: {" + experts + "}}",
                                 {.ep = 2, .dp = 2});
    return layer_kernels(fixture.setting, workload::LayerKind::experts);
  };
  const auto moved = [](const std::vector<Kernel>& pass) {
    double bytes = 0;
    for (const Kernel& kernel : pass)
      if (is_expert_part(kernel.part) && kernel.work == Kernel::Work::memory) bytes += kernel.bytes;
    return bytes;
  };
  const workload::PassKernels apart = kernels("");
  const workload::PassKernels fused = kernels("op_fuser: true");
  // The rank processes 2,048 token copies of 64 elements, or 96 inside an expert. A cast moves 2 +
  // 2 bytes per element, the activation function 6 per output element and 10 in the backward pass,
  // and the bias of the second product 28 and 36, as it goes through fp32.
  CHECK(moved(apart.forward) == 2048.0 * (4 * 64 + 6 * 96 + 4 * 96 + 28 * 64));
  CHECK(moved(fused.forward) == 2048.0 * 4 * 64);
  CHECK(moved(apart.input_grad) == 2048.0 * (4 * 2 * 96 + 10 * 96 + 4 * 64 + 36 * 64));
  CHECK(moved(fused.input_grad) == 2048.0 * 4 * 64);
}

TEST_CASE("grouped products depend on their own numbers or on those of single products",
          "[model]") {
  const Kernel in = only_kernel(forward_of(2), Part::expert_in, "grouped");
  const Kernel router = only_kernel(forward_of(2), Part::router, "product");
  config::Gpu gpu = config::find_gpu("h100-sxm");
  gpu.memory_bandwidth = 1e30;
  gpu.assumed = {"products.bf16.wave", "products.bf16.grouped"};
  using Keys = std::vector<std::string>;
  CHECK(assumed_for(in, gpu) == Keys{"products.bf16.grouped"});
  CHECK(assumed_for(router, gpu) == Keys{"products.bf16.wave"});
  gpu.products.bf16->grouped.reset();
  CHECK(assumed_for(in, gpu) == gpu.assumed);
  gpu.assumed = {"products.bf16"};
  CHECK(assumed_for(in, gpu) == gpu.assumed);
  CHECK(assumed_for(router, gpu) == gpu.assumed);
}

TEST_CASE("without load balance, all ranks of cp wait for the attention of the last rank",
          "[model]") {
  using config::ContextBalance;
  using config::ContextComm;
  const auto attention = [](ContextComm comm, ContextBalance balance, std::uint32_t a2a = 0) {
    const SettingFixture fixture(library_model("llama-3-8b"), "{}",
                                 {.cp = 4, .cp_comm = comm, .cp_a2a = a2a, .cp_balance = balance});
    double flops = 0;
    for (const Kernel& kernel : layer_kernels(fixture.setting, workload::LayerKind::dense).forward)
      if (kernel.work == Kernel::Work::attention) flops += kernel.times * kernel.flops;
    return flops;
  };
  // Each of four ranks has a quarter of 8,192 queries in 32 heads of 128 elements. Half of all
  // pairs with keys count if work is balanced, otherwise 7/8 on the last rank.
  const double square = 4.0 * 8192 / 4 * 8192 * 32 * 128;
  for (const ContextComm comm : {ContextComm::p2p, ContextComm::all_gather}) {
    CHECK(attention(comm, ContextBalance::head_tail) == Approx(square / 2));
    CHECK(attention(comm, ContextBalance::none) == Approx(square * 7 / 8));
  }
  // With a2a, a rank has the whole sequence for a part of the heads, so half of the pairs count.
  // With two groups in a ring, 3/4 count on the last one.
  CHECK(attention(ContextComm::a2a, ContextBalance::none) == Approx(square / 2));
  CHECK(attention(ContextComm::a2a_p2p, ContextBalance::none, 2) == Approx(square * 3 / 4));
}

TEST_CASE("a loss in chunks launches its kernels once for each chunk in the forward pass",
          "[model]") {
  const auto head = [](const std::string& training) {
    const SettingFixture fixture(library_model("llama-3-8b"), training, {.tp = 2});
    return head_kernels(fixture.setting);
  };
  const workload::PassKernels whole = head("{sequence: 1024}");
  const workload::PassKernels chunked = head("{sequence: 1024, loss_chunks: 8}");
  const auto flops = [](const workload::PassKernels& kernels) {
    double sum = 0;
    for (const auto* const pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
      for (const Kernel& kernel : *pass) sum += kernel.times * kernel.flops;
    return sum;
  };
  CHECK(flops(chunked) == flops(whole));
  // Outside of the final norm there are three products, the loss and its gradient, and three
  // all-reduces.
  CHECK(launches(whole.forward).total() == 1 + 1 + 1 + 3);
  CHECK(launches(chunked.forward).kernels == 1 + 8 * (3 + 2));
  CHECK(launches(chunked.forward).collectives == 8 * 3);
  for (const auto& pass : {chunked.input_grad, chunked.weight_grad})
    for (const Kernel& kernel : pass) CHECK(kernel.part == Part::head_norm);
  for (const Kernel& kernel : chunked.forward)
    if (kernel.part == Part::head) CHECK((kernel.rows == 1024.0 / 8 || kernel.inner == 1024.0 / 8));
}

TEST_CASE("attention with sinks computes masked pairs if the stack does not skip them", "[model]") {
  const auto attention = [](bool has_sinks, bool skips) {
    config::Model model = library_model("gpt-oss-20b");
    model.attention_sinks = has_sinks;
    SettingFixture fixture(model, "{}", {});
    fixture.training.stack.sinks_skip_masked = skips;
    const workload::PassKernels kernels =
        layer_kernels(fixture.setting, workload::kind_of_layer(model, 0));
    return *std::ranges::find(kernels.forward, Kernel::Work::attention, &Kernel::work);
  };
  const Kernel masked = attention(true, true);
  const Kernel full = attention(true, false);
  CHECK(full.flops == Approx(4.0 * 4096 * 4096 * 64 * 64));
  CHECK(full.keys == 4096);
  CHECK(masked.flops < 0.3 * full.flops);
  CHECK(attention(false, false).flops == masked.flops);
  CHECK(attention(false, false).keys == masked.keys);
}

TEST_CASE("scores are aligned if head sizes and a fixed length are multiples of 8", "[model]") {
  const auto is_aligned = [](std::uint32_t head_dim, const std::string& lengths) {
    config::Model model = library_model("megatron-7.5b");
    model.head_dim = head_dim;
    const SettingFixture fixture(model, "{flash_attention: false" + lengths + "}", {});
    const auto kernels = layer_kernels(fixture.setting, workload::LayerKind::dense).forward;
    return std::ranges::find(kernels, Kernel::Work::scores, &Kernel::work)->aligned;
  };
  CHECK(is_aligned(128, ""));
  CHECK_FALSE(is_aligned(225, ""));
  CHECK(is_aligned(128, ", sequence: 1024"));
  CHECK_FALSE(is_aligned(128, ", sequence: 1023"));
  CHECK(is_aligned(128, ", lengths: {documents: [1024, 1040]}"));
}
