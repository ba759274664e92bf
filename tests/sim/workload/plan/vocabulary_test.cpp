#include <numeric>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using config::test::error_of;
using schedules::PassKind;
using workload::Collective;
using workload::Group;

// Tests of a vocabulary that is split over the pipeline's devices.
namespace {

config::Scenario scenario(const std::string& vocabulary, const std::string& extra_keys = "") {
  return config::read_scenario(config::read_yaml_text(
      fmt::format(
          "{{model: {{layers: 8, hidden: 4096, heads: 32, vocabulary: 65536, sequence: 4096, "
          "biases: false, norm: rmsnorm, positions: rotary, tied_embeddings: "
          "false}}, gpu: h100-sxm, microbatches: 16, parallel: {{pp: 4, vocab_parallel: "
          "{}}}{}}}",
          vocabulary, extra_keys),
      "mine.yaml"));
}

workload::Plan plan(const std::string& vocabulary, const std::string& extra_keys = "") {
  const config::Scenario own_scenario = scenario(vocabulary, extra_keys);
  const workload::Gpus gpus(own_scenario.devices.value, *own_scenario.gpu);
  return workload::make_plan(own_scenario, own_scenario.schedules.front(), gpus);
}

double sum(const workload::Plan& plan, PassKind kind) {
  const auto& times = plan.costs.times[kind];
  return std::accumulate(times.begin(), times.end(), 0.0);
}

constexpr std::uint64_t tokens = 4096;
constexpr std::uint64_t hidden = 4096;
constexpr std::uint64_t matrix = 65536 * hidden;

}  // namespace

TEST_CASE("a split vocabulary is divided equally, with equal passes on all devices",
          "[vocabulary]") {
  const workload::Plan whole = plan("none");
  const workload::Plan cut = plan("vocab-2");
  const auto& forward = cut.costs.times[PassKind::forward];
  for (std::uint32_t device = 0; device < 4; ++device) {
    CHECK(forward[device] == Approx(forward[0]));
    CHECK(cut.costs.state[device].weights == cut.costs.state[0].weights);
    // With the split vocabulary, each device has two layers, a quarter of both matrices, and the
    // final norm. Otherwise a middle stage has layers only.
    CHECK(cut.costs.state[device].weights ==
          whole.costs.state[1].weights + 2 * (2 * matrix / 4 + hidden));
  }
  // The time of the output layer is divided among the devices; only the overhead of its kernels is
  // added.
  const auto total = [](const workload::Plan& of) {
    double seconds = 0;
    for (const PassKind kind :
         {PassKind::forward, PassKind::backward, PassKind::output, PassKind::output_grad})
      seconds += sum(of, kind);
    return seconds;
  };
  CHECK(total(cut) == Approx(total(whole)).epsilon(0.1));
  CHECK(sum(whole, PassKind::output) == 0);
  // F and B of the last stage are those of its layers alone.
  for (const PassKind kind : {PassKind::forward, PassKind::backward})
    CHECK(cut.costs.times[kind][3] == Approx(whole.costs.times[kind][1]));
  // With one barrier, S computes the gradient of its input; with two, T does.
  const workload::Plan two = plan("vocab-1");
  CHECK(sum(cut, PassKind::output) > 1.3 * sum(two, PassKind::output));
  CHECK(sum(cut, PassKind::output) + sum(cut, PassKind::output_grad) ==
        Approx(sum(two, PassKind::output) + sum(two, PassKind::output_grad)));
  // No stage stores logits per microbatch in flight. Instead it has buffers for one part of the
  // logits, its gradient, and the hidden states that it receives.
  for (const workload::Activations& stage : cut.costs.activations) CHECK(stage.logits == 0);
  const auto& training = scenario("none").training;
  CHECK(cut.costs.state[2].buffers == whole.costs.state[2].buffers +
                                          ((training.fused_loss ? 2 : 4) + 2) * tokens * 65536 / 4 +
                                          4 * tokens * hidden);
}

TEST_CASE("one or two more microbatches are in flight at the barriers", "[vocabulary]") {
  const auto in_flight = [](const std::string& vocabulary) {
    return schedules::peak_in_flight(plan(vocabulary).schedule);
  };
  using Counts = std::vector<double>;
  CHECK(in_flight("none") == Counts{4, 3, 2, 1});
  CHECK(in_flight("vocab-1") == Counts{6, 5, 4, 3});
  CHECK(in_flight("vocab-2") == Counts{5, 4, 3, 2});
}

TEST_CASE("the first stage of a device stands for its part of the vocabulary in V-Half",
          "[vocabulary]") {
  const std::string v_half = ", schedule: v-half";
  const workload::Plan whole = plan("none", v_half);
  const workload::Plan cut = plan("vocab-2", v_half);
  const auto broadcast_bytes = [&](std::uint32_t stage) {
    std::uint64_t bytes = 0;
    for (const workload::Call& call : cut.costs.traffic[stage][PassKind::output])
      if (call.collective == Collective::broadcast) bytes += call.times * call.bytes;
    return bytes;
  };
  for (std::uint32_t device = 0; device < 4; ++device) {
    // Otherwise device 1 has layers only. Each device has a final norm.
    CHECK(cut.costs.state[device].weights ==
          whole.costs.state[1].weights + 2 * (2 * matrix / 4 + hidden));
    CHECK(broadcast_bytes(device) == 4 * tokens * hidden);
    CHECK(broadcast_bytes(7 - device) == 0);
    CHECK(cut.costs.times[PassKind::output][device] > 0);
    CHECK(cut.costs.times[PassKind::output][7 - device] == 0);
  }
  // Logits take as much as in 1F1B.
  const auto added = [&](const workload::Plan& with, const workload::Plan& without) {
    return static_cast<double>(with.costs.state[2].buffers) -
           static_cast<double>(without.costs.state[2].buffers);
  };
  CHECK(added(cut, whole) == Approx(added(plan("vocab-2"), plan("none"))));
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad})
    for (const double seconds : cut.costs.times[kind])
      CHECK(seconds == Approx(cut.costs.times[kind][0]));
}

TEST_CASE("an interlaced vocabulary stops all devices for its collectives", "[vocabulary]") {
  const workload::Plan cut = plan("interlaced", ", schedule: interlaced");
  CHECK(schedules::peak_in_flight(cut.schedule) == std::vector<double>{6, 5, 4, 3});
  for (const workload::StageTraffic& stage : cut.costs.traffic)
    for (const PassKind kind : {PassKind::output, PassKind::output_grad}) {
      CHECK(!stage[kind].empty());
      for (const workload::Call& call : stage[kind]) CHECK(call.overlappable_compute == 0);
    }
  CHECK_THAT(error_of([] { plan("interlaced"); }), Catch::Contains("allowed: interlaced, or"));
  CHECK_THAT(error_of([] { plan("vocab-1", ", schedule: interlaced"); }),
             Catch::Contains("allowed: 1f1b, v-half, or vocab_parallel none"));
}

TEST_CASE("devices exchange hidden states, sums and gradients", "[vocabulary]") {
  const workload::Plan cut = plan("vocab-1");
  CHECK(plan("none").costs.traffic[3][PassKind::forward].empty());
  for (const workload::StageTraffic& stage : cut.costs.traffic) {
    const auto bytes = [&](PassKind kind, Collective collective) {
      std::uint64_t sum = 0;
      for (const workload::Call& call : stage[kind]) {
        CHECK(call.group == Group::pp);
        CHECK(call.overlappable_compute > 0);
        if (call.collective == collective) sum += call.times * call.bytes;
      }
      return sum;
    };
    // Hidden states are broadcast in fp32. All-reduces add up three numbers per token and each
    // device's part of the embeddings.
    CHECK(bytes(PassKind::output, Collective::broadcast) == 4 * tokens * hidden);
    CHECK(bytes(PassKind::output, Collective::all_reduce) == 3 * 4 * tokens + 2 * tokens * hidden);
    CHECK(bytes(PassKind::output_grad, Collective::all_reduce) == 2 * tokens * hidden);
    CHECK(bytes(PassKind::output_grad, Collective::broadcast) == 2 * tokens * hidden);
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) CHECK(stage[kind].empty());
  }
}

TEST_CASE("a split vocabulary is rejected where it is not supported", "[vocabulary]") {
  CHECK(error_of([] { plan("vocab-2", ", schedule: zb-h1"); }) ==
        "mine.yaml:1:242: parallel.vocab_parallel is vocab-2, but zb-h1 cannot run the passes of a "
        "split vocabulary; allowed: 1f1b, v-half, or vocab_parallel none");
  CHECK_THAT(error_of([] { scenario("vocab-2", ", communication: {detail: full}"); }),
             Catch::Contains("parallel.vocab_parallel is vocab-2") &&
                 Catch::Contains("communication.detail: full"));
  CHECK_THAT(error_of([] { scenario("vocab-2", ", layer_times: {head: {forward: 1 ms}}"); }),
             Catch::Contains("layer_times are those of a whole output layer"));
  CHECK_THAT(
      error_of([] { scenario("vocab-2", ", training: {loss_chunks: 8}"); }),
      Catch::Contains("training.loss_chunks cuts the loss by tokens; leave out one of them"));
}

TEST_CASE("given pass times include those of a split vocabulary", "[vocabulary]") {
  const config::Scenario with_times = config::read_scenario(config::read_yaml_text(
      "{devices: 2, microbatches: 4, forward_times: 1, backward_times: 2, parallel: "
      "{vocab_parallel: vocab-1}}",
      "mine.yaml"));
  const workload::Plan plan_with_times =
      workload::make_plan(with_times, with_times.schedules.front());
  CHECK(schedules::peak_in_flight(plan_with_times.schedule) == std::vector<double>{4, 3});
  CHECK(sum(plan_with_times, PassKind::output) == 0);
}

TEST_CASE("times of S and T can be given, with a model or without", "[vocabulary]") {
  const auto plan_of = [](const std::string& text) {
    const config::Scenario own_scenario =
        config::read_scenario(config::read_yaml_text(text, "mine.yaml"));
    return workload::make_plan(own_scenario, own_scenario.schedules.front());
  };
  const std::string times = "{devices: 2, microbatches: 4, forward_times: 1, backward_times: 2, ";
  const workload::Plan given = plan_of(
      times + "schedule: {name: 1f1b, barriers: 1}, output_times: 0.5, output_grad_times: [1, 2]}");
  using Times = std::vector<double>;
  CHECK(given.costs.times[PassKind::output] == Times{0.5, 0.5});
  CHECK(given.costs.times[PassKind::output_grad] == Times{1, 2});
  CHECK(given.schedule.barriers == 1);
  CHECK_THAT(error_of([&] { plan_of(times + "schedule: 1f1b, output_times: 1}"); }),
             Catch::Contains("output_times is given, and 1f1b has no S and T"));
  CHECK_THAT(
      error_of([&] { plan_of(times + "schedule: {name: 1f1b, barriers: 1}, output_times: 1}"); }),
      Catch::Contains("output_grad_times is missing"));
  CHECK_THAT(error_of([] { plan("vocab-2", ", schedule: {name: 1f1b, barriers: 2}"); }),
             Catch::Contains("1f1b has 2 barriers, and parallel.vocab_parallel vocab-2 has 1"));
}
