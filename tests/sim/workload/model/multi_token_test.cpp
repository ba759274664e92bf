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

// A GPT of 4 layers of 64 with 1,000 tokens, padded to 1,024, and sequences of 32.
namespace {

constexpr double elements = 32 * 64;
constexpr std::uint64_t vocabulary_parameters = 1024 * 64;
// A layer, 12 h^2 + 13 h; the projection, 2 h^2; three norms, 2 h each.
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
  // The released checkpoint's README_WEIGHTS.md: 11.5 billion parameters of its own.
  config::Model v3 = library_model("deepseek-v3");
  const auto without = static_cast<double>(workload::parameter_count(v3));
  v3.mtp_layers = 1;
  CHECK(static_cast<double>(workload::parameter_count(v3)) - without ==
        Approx(11.5e9).epsilon(0.01));
}

TEST_CASE("its FLOP are a layer's, the projection's and the head's once more", "[model]") {
  const double h = 64;
  const double s = 32;
  const double layer = 24 * s * h * h + 2 * s * s * h;
  CHECK(workload::forward_flops(gpt(1), 1, s) - workload::forward_flops(gpt(0), 1, s) ==
        Approx(layer + 2 * s * 2 * h * h + 2 * s * h * 1000));
}

TEST_CASE("its time is that of its kernels, and the head runs once more", "[model]") {
  const OwnSetting own(gpt(1), "{}", {});
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const workload::StageSums sums(own.setting, gpu, std::nullopt);
  const auto all = sums.of({.layers = {4, 0}, .mtp = 1, .head = true});
  const auto layer = layer_seconds(own.setting, workload::LayerKind::dense, gpu);
  const auto head = head_seconds(own.setting, gpu);
  const auto module = mtp_seconds(own.setting, gpu);
  CHECK(all.kernels.forward == Approx(module.kernels.forward + 2 * head.kernels.forward));
  CHECK(all.kernels.backward() == Approx(module.kernels.backward() + 2 * head.kernels.backward()));
  CHECK(module.kernels.forward > layer.kernels.forward);
  // Lookup, two norms, both side by side, projection.
  CHECK(workload::mtp_kernels(own.setting).forward.size() ==
        workload::layer_kernels(own.setting, workload::LayerKind::dense).forward.size() + 5);
}

TEST_CASE("it keeps what comes in, the embedding, and both side by side", "[model]") {
  const auto more = [](const std::string& training) {
    const OwnSetting own(gpt(1), training, {});
    return mtp_bytes(own.setting).held - layer_bytes(own.setting, workload::LayerKind::dense).held;
  };
  CHECK(more("{}") == Approx((2 + 2 + 4) * elements));
  // Of a whole module that is made again, the layer keeps no input either.
  CHECK(more("{recompute: full}") == Approx((2 + 2 - 2) * elements));
}

TEST_CASE("multi-token prediction is on the last stage, with a copy of the embedding", "[model]") {
  const config::Partition even;
  const StageCosts with = costs(gpt(1), even, 2);
  const StageCosts without = costs(gpt(0), even, 2);
  CHECK(with.activations[0] == without.activations[0]);
  CHECK(with.activations[1].logits == 2 * without.activations[1].logits);
  CHECK(with.forward_flops[0] == without.forward_flops[0]);
  CHECK(with.traffic[0].parameters == without.traffic[0].parameters);
  CHECK(with.traffic[1].parameters - without.traffic[1].parameters ==
        module_parameters + vocabulary_parameters);
  CHECK(without.traffic[1].embedding_parameters == 0);
  CHECK(with.traffic[0].embedding_parameters == vocabulary_parameters);
  CHECK(with.traffic[1].embedding_parameters == vocabulary_parameters);
  // A tied head has that copy anyway, and one device has the embedding itself.
  CHECK(costs(gpt(1, true), even, 2).traffic[1].parameters -
            costs(gpt(0, true), even, 2).traffic[1].parameters ==
        module_parameters);
  CHECK(costs(gpt(1), even, 1).traffic[0].parameters -
            costs(gpt(0), even, 1).traffic[0].parameters ==
        module_parameters);
}

TEST_CASE("a layout places multi-token prediction and the loss apart", "[model]") {
  // Et|tt|tm|L on two devices: m on the first, which has the embedding.
  const StageCosts apart = costs(gpt(1), layout({1, 2, 1, 0}, {0, 0, 1, 0}), 2);
  CHECK(apart.traffic[2].parameters == module_parameters + (12 * 64 * 64 + 13 * 64));
  CHECK(apart.traffic[3].parameters == vocabulary_parameters + 2 * 64);
  CHECK(apart.traffic[0].embedding_parameters == 0);
  // Et|tt|t|mL: on the other one.
  const StageCosts last = costs(gpt(1), layout({1, 2, 1, 0}, {0, 0, 0, 1}), 2);
  CHECK(last.traffic[3].parameters == module_parameters + 2 * vocabulary_parameters + 2 * 64);
  double flops = 0;
  for (const double stage : last.forward_flops) flops += stage;
  CHECK(3 * flops == Approx(last.model_flops_per_microbatch));
  CHECK(apart.model_flops_per_microbatch == last.model_flops_per_microbatch);
}

TEST_CASE("tensor parallelism gathers the projection's input and its result", "[traffic]") {
  const OwnSetting own(gpt(1), "{}", {.tp = 2, .sequence = true});
  const config::Gpu gpu = config::find_gpu("a100-80gb");
  const auto of = [&](const workload::StageParts& parts) {
    return stage_calls(own.setting, parts, gpu, {});
  };
  const auto module = of({.layers = {4, 0}, .mtp = 1});
  const auto layer = of({.layers = {3, 1}});
  const auto more = [&](PassKind pass, Collective kind) {
    return (bytes_of(module[pass], kind) - bytes_of(layer[pass], kind)) / (2 * elements);
  };
  CHECK(more(PassKind::forward, Collective::all_gather) == Approx(2 + 1));
  CHECK(more(PassKind::forward, Collective::reduce_scatter) == Approx(1));  // the embedding's
  CHECK(more(PassKind::input_grad, Collective::all_gather) == Approx(2 + 1));
  CHECK(more(PassKind::input_grad, Collective::reduce_scatter) == Approx(2));
  CHECK(more(PassKind::weight_grad, Collective::all_gather) == Approx(1));
}
