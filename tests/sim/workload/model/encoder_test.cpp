#include <cmath>
#include <numeric>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/workload/compute/encoder_work.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/plan/planner.hpp"
#include "sim/workload/plan/uneven_work.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/support/program.hpp"

using namespace pipewright;
using config::test::error_of;
using schedules::PassKind;

// Tests of an encoder of images beside a language model.
namespace {

constexpr double layers = 27;
constexpr double hidden = 1152;
constexpr double ffn = 4304;
constexpr double text_hidden = 4096;
constexpr double merged_width = 4 * hidden;
constexpr double patch_elements = 16.0 * 16 * 2 * 3;

// A vision transformer of the size of Qwen3-VL's, without DeepStack.
const std::string shape =
    "{layers: 27, hidden: 1152, heads: 16, ffn: 4304, rotary: true, positions: 2304, patch_size: "
    "16, temporal_patch_size: 2, projector: {merge: 2, ffn: 4608}}";

std::string text_of(const std::string& vision, const std::string& keys) {
  const std::string modules =
      vision.empty() ? "" : fmt::format(", modules: {{vision: {{model: {}, {}}}}}", shape, vision);
  return fmt::format(
      "{{model: {{layers: 8, hidden: 4096, heads: 32, ffn: 14336, mlp: swiglu, vocabulary: 65536, "
      "sequence: 4096, biases: false, norm: rmsnorm}}, gpu: h100-sxm, microbatches: 8, stack: "
      "{{like: megatron-core, host: {{kernel: 1 us, collective: 1 us, pass: 1 us, iteration: 1 "
      "us}}}}{}{}}}",
      modules, keys.empty() ? "" : ", " + keys);
}

config::Scenario scenario(const std::string& vision,
                          const std::string& keys = "parallel: {pp: 4}") {
  return config::read_scenario(config::read_yaml_text(text_of(vision, keys), "mine.yaml"));
}

workload::StageCosts costs(const std::string& vision,
                           const std::string& keys = "parallel: {pp: 4}") {
  const config::Scenario own = scenario(vision, keys);
  const workload::Gpus gpus(own.devices.value, *own.gpu);
  return workload::make_plan(own, own.schedules.front(), gpus).costs;
}

workload::Encoder encoder(const std::string& vision, const std::string& keys = "") {
  const config::Scenario own = scenario(vision, keys);
  const config::Model& model = own.model->value;
  return workload::encoder_of(
             {model, own.training, workload::sizes_of(model, own.training, own.parallel)})
      .value();
}

const std::vector<double>& times(const workload::StageCosts& costs, PassKind kind) {
  return costs.times[kind];
}

// FLOP of a forward pass over one image, as Megatron-Bridge counts them (vit_flops_from_patch_stats
// in megatron/bridge/training/utils/flop_utils.py), which leaves out the products of patches.
double bridge_flops(double patches) {
  const double transformer = layers * ((8 * hidden * hidden + 4 * hidden * ffn) * patches +
                                       4 * hidden * patches * patches);
  const double merger =
      patches / 4 * (2 * merged_width * merged_width + 2 * merged_width * text_hidden);
  return transformer + merger;
}
std::uint64_t whole(double number) { return static_cast<std::uint64_t>(number); }
double patch_flops(double patches) { return 2 * patches * patch_elements * hidden; }

}  // namespace

TEST_CASE("images without patches give the costs of the language model alone", "[encoder]") {
  const workload::StageCosts with = costs("tokens: 0, frozen: [encoder]");
  const workload::StageCosts without = costs("");
  CHECK(with.times.of_stage == without.times.of_stage);
  CHECK(with.state == without.state);
  CHECK(with.activations == without.activations);
  CHECK(with.model_flops_per_microbatch == without.model_flops_per_microbatch);
  CHECK_FALSE(scenario("tokens: 0").modules.vision);
}

TEST_CASE("the FLOP of an encoder follow the formula of a vision transformer", "[encoder]") {
  const double forward = bridge_flops(784) + patch_flops(784);
  const workload::EncoderFlops trained = encoder_flops(encoder("tokens: 784"));
  CHECK(trained.forward == Approx(forward));
  // Pixels get no gradient.
  CHECK(trained.training == Approx(3 * forward - patch_flops(784)));
  CHECK(trained.recomputed == 0);
  const workload::EncoderFlops frozen =
      encoder_flops(encoder("tokens: 784, frozen: [encoder, projector]"));
  CHECK(frozen.training == Approx(forward));
  // A projector that is trained alone has gradients of its two matrices and of the input of the
  // second one.
  const double first = 784.0 / 4 * 2 * merged_width * merged_width;
  const double second = 784.0 / 4 * 2 * merged_width * text_hidden;
  const workload::EncoderFlops projector = encoder_flops(encoder("tokens: 784, frozen: [encoder]"));
  CHECK(projector.training == Approx(forward + first + 2 * second));
  // A frozen projector passes gradients to the layers.
  const workload::EncoderFlops layers_alone =
      encoder_flops(encoder("tokens: 784, frozen: [projector]"));
  CHECK(layers_alone.training == Approx(3 * forward - patch_flops(784) - first - second));
  const auto total = [](const std::string& vision) {
    return costs(vision).model_flops_per_microbatch;
  };
  CHECK(total("tokens: 784") - total("") == Approx(3 * forward - patch_flops(784)));
}

TEST_CASE("attention of patches stays within an image", "[encoder]") {
  const auto flops = [](const std::string& vision) {
    return encoder_flops(encoder(vision)).forward;
  };
  CHECK(flops("tokens: 784, images: 2") == Approx(2 * flops("tokens: 784")));
  CHECK(flops("tokens: 1568") >
        flops("tokens: 784, images: 2") + 0.99 * layers * 4 * hidden * 2 * 784 * 784);
  // A list of sizes counts the squares of each image.
  CHECK(flops("tokens: [784, 1568]") == Approx((flops("tokens: 784") + flops("tokens: 1568")) / 2));
}

TEST_CASE("an encoder has the parameters of its matrices, norms and positions", "[encoder]") {
  const double layer =
      4 * hidden * hidden + 4 * hidden + 2 * hidden * ffn + ffn + hidden + 2 * 2 * hidden;
  const double patches = patch_elements * hidden + hidden + 2304 * hidden;
  const double projector =
      merged_width * (merged_width + 1) + text_hidden * (merged_width + 1) + 2 * hidden;
  workload::Parameters sum;
  for (const auto& part : encoder_parameters(encoder("tokens: 784"))) sum += part;
  CHECK(sum.dense == whole(layers * layer + patches + projector));
  CHECK(sum.frozen_dense == 0);
  workload::Parameters frozen;
  for (const auto& part : encoder_parameters(encoder("tokens: 784, frozen: encoder")))
    frozen += part;
  CHECK(frozen.dense == sum.dense);
  CHECK(frozen.frozen_dense == whole(layers * layer + patches));
  // They are those of the first device: 2 bytes of weights, 4 of gradients, 12 of Adam's state.
  const workload::StageCosts with = costs("tokens: 784, frozen: encoder");
  const workload::StageCosts without = costs("");
  CHECK(with.state[0].weights - without.state[0].weights == 2 * sum.dense);
  CHECK(with.state[0].gradients - without.state[0].gradients == whole(4 * projector));
  CHECK(with.state[0].optimizer - without.state[0].optimizer == whole(12 * projector));
  CHECK(with.traffic[0].parameters - without.traffic[0].parameters == whole(projector));
  for (std::size_t device = 1; device < 4; ++device)
    CHECK(with.state[device] == without.state[device]);
}

TEST_CASE("a frozen encoder costs a forward pass and no memory of activations", "[encoder]") {
  const workload::StageCosts without = costs("");
  const workload::StageCosts frozen = costs("tokens: 3136, frozen: [encoder, projector]");
  const workload::StageCosts trained = costs("tokens: 3136");
  CHECK(times(frozen, PassKind::forward)[0] > 1.2 * times(without, PassKind::forward)[0]);
  CHECK(times(frozen, PassKind::forward)[0] == times(trained, PassKind::forward)[0]);
  CHECK(times(frozen, PassKind::backward) == times(without, PassKind::backward));
  CHECK(frozen.activations == without.activations);
  CHECK(frozen.traffic[0].parameters == without.traffic[0].parameters);
  // A trained encoder keeps at least the inputs of its layers, of 2 bytes.
  CHECK(trained.activations[0].held - without.activations[0].held >
        whole(layers * 2 * 3136 * hidden));
  CHECK(times(trained, PassKind::backward)[0] - times(without, PassKind::backward)[0] >
        1.5 * (times(trained, PassKind::forward)[0] - times(without, PassKind::forward)[0]));
  // The other stages are the same.
  for (std::size_t stage = 1; stage < 4; ++stage)
    for (const PassKind kind : {PassKind::forward, PassKind::backward})
      CHECK(times(trained, kind)[stage] == times(without, kind)[stage]);
}

TEST_CASE("a projector trained alone needs gradients down to the embedding", "[encoder]") {
  const std::string frozen_text =
      "parallel: {pp: 4}, training: {frozen: [embedding, attention, mlp, norms, head]}";
  CHECK_THAT(error_of([&] { scenario("", frozen_text); }), Catch::Contains("nothing is trained"));
  const workload::StageCosts projector = costs("tokens: 784, frozen: encoder", frozen_text);
  // Every stage passes gradients back, at about the time of a forward pass.
  const auto& forward = times(projector, PassKind::forward);
  const auto& backward = times(projector, PassKind::backward);
  for (std::size_t stage = 1; stage < 3; ++stage) {
    CHECK(backward[stage] > 0.9 * forward[stage]);
    CHECK(backward[stage] < 1.5 * forward[stage]);
    CHECK(projector.traffic[stage].parameters == 0);
  }
  CHECK(projector.traffic[0].parameters ==
        whole(merged_width * (merged_width + 1) + text_hidden * (merged_width + 1) + 2 * hidden));
  // With a frozen embedding and no encoder, the lowest layer computes no gradient of its input.
  const std::string embedding = "parallel: {pp: 4}, training: {frozen: [embedding]}";
  CHECK(times(costs("tokens: 784, frozen: encoder", embedding), PassKind::input_grad)[0] >
        times(costs("tokens: 784, frozen: [encoder, projector]", embedding),
              PassKind::input_grad)[0]);
}

TEST_CASE("ranks of tp share an encoder or all compute the same", "[encoder]") {
  const std::string tp = "parallel: {pp: 2, tp: 4, sp: true}";
  const workload::StageCosts shared = costs("tokens: 3136", tp);
  const workload::StageCosts same = costs("tokens: 3136, parallel: {tp: 1}", tp);
  const workload::StageCosts without = costs("", tp);
  CHECK(times(shared, PassKind::forward)[0] < times(same, PassKind::forward)[0]);
  CHECK(shared.state[0].weights < same.state[0].weights);
  // Two all-reduces of a layer's hidden states over tp in the forward pass, and the projector's.
  const auto calls = [](const workload::StageCosts& costs, PassKind kind) {
    std::uint32_t count = 0;
    for (const workload::Call& call : costs.traffic[0].inside[static_cast<std::size_t>(kind)])
      if (call.group == workload::Group::tp &&
          call.collective == workload::Operation(workload::Collective::all_reduce))
        count += call.times;
    return count;
  };
  CHECK(calls(shared, PassKind::forward) - calls(without, PassKind::forward) == 2 * 27 + 1);
  CHECK(calls(same, PassKind::forward) == calls(without, PassKind::forward));
  const workload::StageCosts frozen = costs("tokens: 3136, frozen: [encoder, projector]", tp);
  CHECK(calls(frozen, PassKind::forward) == calls(shared, PassKind::forward));
  CHECK(calls(frozen, PassKind::backward) == calls(without, PassKind::backward));
}

TEST_CASE("ranks of cp share the images and gather their tokens", "[encoder]") {
  const std::string cp = "parallel: {pp: 2, cp: 2}";
  const workload::Encoder whole = encoder("tokens: 3136", cp);
  const workload::Encoder half = encoder("tokens: 3136, parallel: {cp: 2}", cp);
  CHECK(half.sizes.tokens == whole.sizes.tokens / 2);
  CHECK(half.sizes.document == 3136);
  CHECK(half.merged_everywhere == whole.merged);
}

TEST_CASE("an encoder with ranks of its own is a first stage without layers", "[encoder]") {
  const workload::StageCosts own = costs("tokens: 3136, placement: own_ranks", "parallel: {pp: 5}");
  const workload::StageCosts listed =
      costs("tokens: 3136", "parallel: {pp: 5}, partition: [0, 2, 2, 2, 2]");
  CHECK(own.times.of_stage == listed.times.of_stage);
  CHECK(own.state == listed.state);
  // Beside layers, the encoder adds the same seconds to the first stage.
  const workload::StageCosts beside = costs("tokens: 3136", "parallel: {pp: 4}");
  const workload::StageCosts without = costs("", "parallel: {pp: 4}");
  const workload::StageCosts bare = costs("", "parallel: {pp: 5}, partition: [0, 2, 2, 2, 2]");
  for (const PassKind kind : {PassKind::forward, PassKind::backward})
    CHECK(times(beside, kind)[0] - times(without, kind)[0] ==
          Approx(times(own, kind)[0] - times(bare, kind)[0]));
  const auto message = [](const std::string& keys) {
    return error_of([&] { costs("tokens: 784, placement: own_ranks", keys); });
  };
  CHECK_THAT(message("parallel: {pp: 1}"), Catch::Contains("the pipeline has 1 device"));
  CHECK_THAT(message("parallel: {pp: 4}, partition: [2, 2, 2, 2]"),
             Catch::Contains("partition gives the first stage 2 layers"));
  CHECK_THAT(message("parallel: {pp: 4}, schedule: {name: interleaved-1f1b, chunks: 2}"),
             Catch::Contains("own_ranks leaves the first of the devices"));
}

TEST_CASE("a partition by cost gives the stage of an encoder fewer layers", "[encoder]") {
  const std::string by_cost = "parallel: {pp: 4}, partition: by_cost";
  const workload::StageCosts with = costs("tokens: 12544, images: 1", by_cost);
  const workload::StageCosts even = costs("tokens: 12544, images: 1");
  const auto slowest = [](const workload::StageCosts& costs) {
    const auto& seconds = times(costs, PassKind::forward);
    return *std::max_element(seconds.begin(), seconds.end());
  };
  CHECK(slowest(with) < slowest(even));
}

TEST_CASE("microbatches of different images differ in the first stage alone", "[encoder]") {
  const config::Scenario own = scenario("tokens: [784, 3136]", "parallel: {pp: 4}");
  const workload::Gpus gpus(own.devices.value, *own.gpu);
  const workload::Plan plan = workload::make_plan(own, own.schedules.front(), gpus);
  const auto uneven = workload::uneven_work(own, plan.schedule, plan.costs);
  REQUIRE(uneven);
  const auto ratio = [&](std::uint16_t stage, std::uint32_t microbatch) {
    return ratios_of(*uneven, plan.costs, 0,
                     {.kind = PassKind::forward, .stage = stage, .microbatch = microbatch})
        .kernels;
  };
  CHECK(ratio(0, 0) < 1);
  CHECK(ratio(0, 1) > 1);
  CHECK(ratio(0, 0) + ratio(0, 1) == Approx(2));
  CHECK(ratio(1, 0) == 1);
  // All microbatches of equal images are equal.
  const config::Scenario equal = scenario("tokens: 784", "parallel: {pp: 4}");
  CHECK_FALSE(workload::uneven_work(equal, plan.schedule, plan.costs));
}

TEST_CASE("both engines agree on a model with images", "[encoder]") {
  const tests::CommandFolder folder;
  for (const char* const vision : {"tokens: 3136", "tokens: 3136, frozen: encoder",
                                   "tokens: [784, 3136]", "tokens: 3136, placement: own_ranks"}) {
    folder.write("mine.yaml", text_of(vision, "parallel: {pp: 4, dp: 2}"));
    const auto seconds = [&](const std::string& engine) {
      const auto result = folder.run("run mine.yaml --json --engine " + engine);
      REQUIRE(result.status == 0);
      return nlohmann::json::parse(result.out)["makespan_s"].get<double>();
    };
    INFO(vision);
    CHECK(seconds("timing") == Approx(seconds("simgrid")).epsilon(1e-9));
  }
}
