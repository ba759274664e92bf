#include <catch2/catch.hpp>

#include "schedules/routes.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/calls.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/state.hpp"
#include "tests/sim/workload/model/support.hpp"

using namespace pipewright;
using namespace pipewright::test;
using schedules::PassKind;
using schedules::Routes;
using workload::Collective;
using workload::StageCosts;

// The model is a GPT of 4 layers of 64 elements with a vocabulary of 1,000, padded to 1,024, and
// sequences of 32 tokens.
namespace {

constexpr double elements = 32 * 64;
constexpr std::uint64_t vocabulary_parameters = 1024 * 64;
// A layer has 12 h^2 + 13 h parameters, the projection 2 h^2, and three norms 2 h each.
constexpr std::uint64_t module_parameters = 14 * 64 * 64 + (13 + 6) * 64;

config::Model gpt(std::uint32_t mtp_layers, bool tied = false) {
  return model_of("{layers: 4, hidden: 64, heads: 8, vocabulary: 1000, sequence: 32, mtp_layers: " +
                  std::to_string(mtp_layers) + (tied ? ", tied_embeddings: true}" : "}"));
}

StageCosts costs(const config::Model& model, const config::Partition& partition,
                 std::uint32_t devices) {
  const config::Training training = training_of("{}");
  const config::Parallel parallel = parallel_of({});
  const std::vector<config::Gpu> gpus(devices, config::find_gpu("a100-80gb"));
  const auto chunks =
      static_cast<std::uint32_t>(partition.layers.empty() ? 1 : partition.layers.size() / devices);
  return workload::model_costs({model, training, parallel, partition, gpus},
                               Routes::looped(devices, chunks));
}

config::Partition layout(std::vector<std::uint32_t> layers, std::vector<std::uint32_t> mtp) {
  return {config::Partition::Rule::layout, std::move(layers), {}, std::move(mtp), "a layout"};
}

double bytes_of(const std::vector<workload::Call>& calls, Collective kind) {
  double bytes = 0;
  for (const workload::Call& call : calls)
    if (call.collective == kind) bytes += static_cast<double>(call.bytes) * call.times;
  return bytes;
}

}  // namespace

TEST_CASE("a module of multi-token prediction has a projection, a layer and three norms",
          "[model]") {
  CHECK(workload::parameter_count(gpt(2)) - workload::parameter_count(gpt(0)) ==
        2 * module_parameters);
  // README_WEIGHTS.md of the released checkpoint states that the module has 11.5 billion
  // parameters.
  config::Model v3 = library_model("deepseek-v3");
  const auto without_module = static_cast<double>(workload::parameter_count(v3));
  v3.mtp_layers = 1;
  CHECK(static_cast<double>(workload::parameter_count(v3)) - without_module ==
        Approx(11.5e9).epsilon(0.01));
}

TEST_CASE("modules of one repeated layer count its weights once, and their passes each",
          "[model]") {
  config::Model own = gpt(3);
  config::Model shared = own;
  shared.mtp_use_repeated_layer = true;
  CHECK(workload::parameter_count(own) - workload::parameter_count(shared) ==
        2 * module_parameters);
  CHECK(workload::forward_flops(own, 1, 32) == workload::forward_flops(shared, 1, 32));
  const config::Partition even;
  const StageCosts apart = costs(own, even, 2);
  const StageCosts together = costs(shared, even, 2);
  CHECK(together.state[0] == apart.state[0]);
  CHECK(apart.traffic[1].parameters - together.traffic[1].parameters == 2 * module_parameters);
  // In mixed precision with Adam: 2 bytes of weights, 4 of gradients and 12 of state.
  CHECK(apart.state[1].weights - together.state[1].weights == 2 * 2 * module_parameters);
  CHECK(apart.state[1].gradients - together.state[1].gradients == 4 * 2 * module_parameters);
  CHECK(apart.state[1].optimizer - together.state[1].optimizer == 12 * 2 * module_parameters);
  CHECK(together.activations[1] == apart.activations[1]);
  CHECK(together.forward_flops == apart.forward_flops);
}

TEST_CASE("modules of one repeated layer are on one stage", "[model]") {
  config::Model shared = gpt(2);
  shared.mtp_use_repeated_layer = true;
  CHECK_NOTHROW(costs(shared, layout({2, 2}, {0, 2}), 2));
  CHECK_THROWS_WITH(costs(shared, layout({2, 2}, {1, 1}), 2),
                    Catch::Contains("mtp_use_repeated_layer is true"));
}

TEST_CASE("FLOPs of multi-token prediction are those of a layer, the projection and the head",
          "[model]") {
  const double h = 64;
  const double s = 32;
  const double layer = 24 * s * h * h + 2 * s * s * h;
  CHECK(workload::forward_flops(gpt(1), 1, s) - workload::forward_flops(gpt(0), 1, s) ==
        Approx(layer + 2 * s * 2 * h * h + 2 * s * h * 1000));
}

TEST_CASE("multi-token prediction takes the time of its kernels and of another head", "[model]") {
  const SettingFixture fixture(gpt(1), "{}", {});
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const workload::StageSums sums(fixture.setting, gpu, std::nullopt);
  const auto stage_seconds = sums.seconds_of({.layers = {4, 0}, .mtp = 1, .head = true});
  const auto layer = layer_seconds(fixture.setting, workload::LayerKind::dense, gpu);
  const auto head = head_seconds(fixture.setting, gpu);
  const auto module = mtp_seconds(fixture.setting, gpu);
  CHECK(stage_seconds.kernels.forward == Approx(module.kernels.forward + 2 * head.kernels.forward));
  CHECK(stage_seconds.kernels.backward() ==
        Approx(module.kernels.backward() + 2 * head.kernels.backward()));
  CHECK(module.kernels.forward > layer.kernels.forward);
  // In addition to a layer, the module has five kernels: embedding lookup, two norms, concatenation
  // and projection.
  CHECK(workload::mtp_kernels(fixture.setting).forward.size() ==
        workload::layer_kernels(fixture.setting, workload::LayerKind::dense).forward.size() + 5);
}

TEST_CASE("multi-token prediction saves its input, the embedding and their concatenation",
          "[model]") {
  const auto module_bytes = [](const std::string& training) {
    const SettingFixture fixture(gpt(1), training, {});
    return mtp_bytes(fixture.setting).held -
           layer_bytes(fixture.setting, workload::LayerKind::dense).held;
  };
  CHECK(module_bytes("{}") == Approx((2 + 2 + 4) * elements));
  // With full recomputation the whole module is recomputed, so its layer does not save an input of
  // its own.
  CHECK(module_bytes("{recompute: full}") == Approx((2 + 2 - 2) * elements));
}

TEST_CASE("multi-token prediction is on the last stage, with a copy of the embedding", "[model]") {
  const config::Partition even;
  const StageCosts with_module = costs(gpt(1), even, 2);
  const StageCosts without_module = costs(gpt(0), even, 2);
  CHECK(with_module.activations[0] == without_module.activations[0]);
  CHECK(with_module.activations[1].logits == 2 * without_module.activations[1].logits);
  CHECK(with_module.forward_flops[0] == without_module.forward_flops[0]);
  CHECK(with_module.traffic[0].parameters == without_module.traffic[0].parameters);
  CHECK(with_module.traffic[1].parameters - without_module.traffic[1].parameters ==
        module_parameters + vocabulary_parameters);
  CHECK(without_module.traffic[1].embedding_parameters == 0);
  CHECK(with_module.traffic[0].embedding_parameters == vocabulary_parameters);
  CHECK(with_module.traffic[1].embedding_parameters == vocabulary_parameters);
  // No copy is added if the output layer is tied to the embedding, or if a single device has the
  // embedding itself.
  CHECK(costs(gpt(1, true), even, 2).traffic[1].parameters -
            costs(gpt(0, true), even, 2).traffic[1].parameters ==
        module_parameters);
  CHECK(costs(gpt(1), even, 1).traffic[0].parameters -
            costs(gpt(0), even, 1).traffic[0].parameters ==
        module_parameters);
}

TEST_CASE("a layout places multi-token prediction and the loss separately", "[model]") {
  // In the layout Et|tt|tm|L on two devices, the module m is on the first device, which has the
  // embedding E.
  const StageCosts separate = costs(gpt(1), layout({1, 2, 1, 0}, {0, 0, 1, 0}), 2);
  CHECK(separate.traffic[2].parameters == module_parameters + (12 * 64 * 64 + 13 * 64));
  CHECK(separate.traffic[3].parameters == vocabulary_parameters + 2 * 64);
  CHECK(separate.traffic[0].embedding_parameters == 0);
  // In the layout Et|tt|t|mL, the module m is on the second device, which needs a copy of the
  // embedding.
  const StageCosts last = costs(gpt(1), layout({1, 2, 1, 0}, {0, 0, 0, 1}), 2);
  CHECK(last.traffic[3].parameters == module_parameters + 2 * vocabulary_parameters + 2 * 64);
  double flops = 0;
  for (const double stage : last.forward_flops) flops += stage;
  CHECK(3 * flops == Approx(last.model_flops_per_microbatch));
  CHECK(separate.model_flops_per_microbatch == last.model_flops_per_microbatch);
}

TEST_CASE("tensor parallelism gathers the projection's input and its result", "[traffic]") {
  const SettingFixture fixture(gpt(1), "{}", {.tp = 2, .sequence = true});
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const auto calls_of = [&](const workload::StageParts& parts) {
    return stage_calls(fixture.setting, parts, gpu, {});
  };
  const auto module = calls_of({.layers = {4, 0}, .mtp = 1});
  const auto layer = calls_of({.layers = {3, 1}});
  const auto added_tensors = [&](PassKind pass, Collective kind) {
    return (bytes_of(module[pass], kind) - bytes_of(layer[pass], kind)) / (2 * elements);
  };
  CHECK(added_tensors(PassKind::forward, Collective::all_gather) == Approx(2 + 1));
  // The embedding of the module adds one reduce-scatter.
  CHECK(added_tensors(PassKind::forward, Collective::reduce_scatter) == Approx(1));
  CHECK(added_tensors(PassKind::input_grad, Collective::all_gather) == Approx(2 + 1));
  CHECK(added_tensors(PassKind::input_grad, Collective::reduce_scatter) == Approx(2));
  CHECK(added_tensors(PassKind::weight_grad, Collective::all_gather) == Approx(1));
}
