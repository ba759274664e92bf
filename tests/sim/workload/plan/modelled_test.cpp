#include "sim/workload/plan/modelled.hpp"

#include <numeric>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"

using namespace pipewright;
using schedules::PassKind;

// Tests of scenarios that give times or memory in addition to a model.
namespace {

constexpr auto base = "{model: llama-3-8b, gpu: h100-sxm, devices: 4, microbatches: 8, ";
constexpr std::uint64_t gib = 1ULL << 30U;

workload::Plan plan(const std::string& keys) {
  const config::Scenario scenario =
      config::read_scenario(config::read_yaml_text(base + keys + "}", "mine.yaml"));
  const workload::Gpus gpus(scenario.devices.value, *scenario.gpu);
  return workload::make_plan(scenario, scenario.schedules.front(), gpus);
}

const std::vector<double>& times(const workload::Plan& plan, PassKind kind) {
  return plan.costs.times.of_stage[static_cast<std::size_t>(kind)];
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

constexpr double overhead = 0.4e-3;  // of a pass, by the default stack

std::string list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "[" : ", ") + std::to_string(value);
  return text + "]";
}

const std::string eight_forward_times = "forward_times: [1, 2, 3, 4, 5, 6, 7, 8]";
const std::string interleaved = "schedule: {name: interleaved-1f1b, chunks: 2}, ";

}  // namespace

TEST_CASE("one time per stage applies to every placement with that number of stages",
          "[modelled]") {
  const std::vector<double> eight_times{1, 2, 3, 4, 5, 6, 7, 8};
  for (const std::string& schedule :
       {interleaved, std::string("schedule: zb-v, "), std::string("schedule: searched, ")}) {
    CAPTURE(schedule);
    const workload::Plan plan_with_times = plan(schedule + eight_forward_times);
    CHECK(times(plan_with_times, PassKind::forward) == eight_times);
    CHECK(times(plan_with_times, PassKind::input_grad).size() == 8);
  }
  const workload::Plan backward =
      plan("schedule: zb-v, input_grad_times: [1, 2, 3, 4, 5, 6, 7, 8], weight_grad_times: 4");
  CHECK(times(backward, PassKind::input_grad) == eight_times);
  CHECK(times(backward, PassKind::weight_grad) == std::vector<double>(8, 2));
}

TEST_CASE("a partition may list the stages of several chunks per device", "[modelled]") {
  const workload::Plan interleaved_plan = plan(interleaved + "partition: [1, 1, 1, 1, 7, 7, 7, 7]");
  CHECK(times(interleaved_plan, PassKind::forward)[5] >
        5 * times(interleaved_plan, PassKind::forward)[1]);
}

TEST_CASE("a wrong number of times is rejected by the name of the list", "[modelled]") {
  CHECK_THROWS_WITH(plan("schedule: 1f1b, " + eight_forward_times),
                    Catch::EndsWith("forward_times has 8 values; 1f1b takes 1 or 4 (one per "
                                    "device)"));
  CHECK_THROWS_WITH(plan("schedule: zb-1p, " + eight_forward_times),
                    Catch::EndsWith("forward_times has 8 values; zb-1p takes 1 or 4 (one per "
                                    "device)"));
  CHECK_THROWS_WITH(plan("schedule: searched, forward_times: [1, 2, 3]"),
                    Catch::EndsWith("forward_times has 3 values; searched takes 1, 4 (one per "
                                    "device) or 8 (one per stage of 2 chunks per device)"));
  CHECK_THROWS_WITH(plan(interleaved + "forward_times: [1, 2, 3]"),
                    Catch::Contains("forward_times has 3 values; interleaved-1f1b takes 1, 4"));
}

TEST_CASE("giving the model's own times changes nothing", "[modelled]") {
  for (const std::string training :
       {"training: {recompute: none}, ", "training: {recompute: full}, ",
        "training: {recompute: selective, flash_attention: false}, "}) {
    const workload::Plan model = plan(training + interleaved);
    const auto check_same_times = [&](const std::string& keys) {
      CAPTURE(training, keys);
      const workload::Plan with_times = plan(training + interleaved + keys);
      for (const PassKind kind : {PassKind::forward, PassKind::recompute, PassKind::input_grad,
                                  PassKind::weight_grad, PassKind::backward})
        for (std::size_t stage = 0; stage < 8; ++stage)
          CHECK(times(with_times, kind)[stage] == Approx(times(model, kind)[stage]).epsilon(1e-4));
    };
    check_same_times("forward_times: " + list(times(model, PassKind::forward)));
    check_same_times("backward_times: " + list(times(model, PassKind::backward)));
  }
}

TEST_CASE("a whole backward time is divided into I and W in the modelled ratio", "[modelled]") {
  const workload::Plan model = plan("schedule: zb-h1");
  const workload::Plan with_backward = plan("schedule: zb-h1, backward_times: 3");
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CHECK(times(with_backward, PassKind::backward)[stage] == 3);
    CHECK(times(with_backward, PassKind::input_grad)[stage] /
              times(with_backward, PassKind::weight_grad)[stage] ==
          Approx(times(model, PassKind::input_grad)[stage] /
                 times(model, PassKind::weight_grad)[stage]));
    CHECK(times(with_backward, PassKind::input_grad)[stage] +
              times(with_backward, PassKind::weight_grad)[stage] ==
          Approx(3).epsilon(0.05));  // with one more overhead
  }
}

TEST_CASE("recomputation follows measured forward times", "[modelled]") {
  const std::string full = "training: {recompute: full}, schedule: 1f1b, ";
  const std::string none = "training: {recompute: none}, schedule: 1f1b, ";
  const auto backward = [](const std::string& keys) {
    return sum(times(plan(keys), PassKind::backward));
  };
  // With full recomputation, the backward pass takes 10 ms more for each of 32 layers.
  const std::string layers = "layer_times: {forward: 10 ms}";
  CHECK(backward(full + layers) - backward(none + layers) == Approx(0.32));
  // A middle stage recomputes its whole forward pass, except for the constant overhead of a pass.
  const auto middle = [](const std::string& keys) {
    return times(plan(keys), PassKind::backward)[1];
  };
  const double f = times(plan(none), PassKind::forward)[1];
  CHECK(middle(full + "forward_times: 0.1") - middle(none + "forward_times: 0.1") ==
        Approx(0.1 * (f - overhead) / f));
  // A measured backward time already includes recomputation, so nothing is added to it.
  for (const std::string backward_times : {"backward_times: 0.3",
                                           "input_grad_times: 0.2, "
                                           "weight_grad_times: 0.1"})
    CHECK(backward(full + "forward_times: 0.1, " + backward_times) == Approx(4 * 0.3));
  CHECK(backward(full + "layer_times: {forward: 10 ms, backward: 30 ms}") ==
        Approx(backward(none + "layer_times: {forward: 10 ms, backward: 30 ms}")));
}

TEST_CASE("layers, experts, embedding and head take their measured times", "[modelled]") {
  // The 61 layers of DeepSeek-V3 are on 4 stages, 16, 15, 15 and 15; the first 3 layers are dense.
  const auto forward = [](const std::string& layer_times) {
    const std::string keys =
        "{model: deepseek-v3, gpu: h100-sxm, devices: 4, microbatches: 8, parallel: {ep: 8, dp: 8},"
        " layer_times: " +
        layer_times + "}";
    const config::Scenario scenario =
        config::read_scenario(config::read_yaml_text(keys, "mine.yaml"));
    const workload::Gpus gpus(4, *scenario.gpu);
    return times(workload::make_plan(scenario, scenario.schedules.front(), gpus),
                 PassKind::forward);
  };
  const auto uniform = forward("{forward: 1, embedding: {forward: 5}, head: {forward: 7}}");
  CHECK(uniform[0] == Approx(overhead + 16 + 5));
  CHECK(uniform[1] == Approx(overhead + 15));
  CHECK(uniform[3] == Approx(overhead + 15 + 7));
  const auto experts = forward("{forward: 1, experts: {forward: 2}, embedding: {forward: 5}}");
  CHECK(experts[0] == Approx(overhead + 3 * 1 + 13 * 2 + 5));
  CHECK(experts[2] == Approx(overhead + 15 * 2));
  std::string layer_list = "[1";
  for (int layer = 2; layer <= 61; ++layer) layer_list += ", " + std::to_string(layer);
  const auto listed = forward("{forward: " + layer_list + "], head: {forward: 7}}");
  CHECK(listed[1] == Approx(overhead + 17 * 15 + 15 * 14 / 2));
  CHECK(listed[3] == Approx(overhead + 47 * 15 + 15 * 14 / 2 + 7));
}

TEST_CASE("measured times of layers include the collectives of those passes", "[modelled]") {
  const auto calls = [](const std::string& keys, PassKind kind) {
    std::size_t count = 0;
    for (const workload::StageTraffic& stage : plan("parallel: {tp: 2}" + keys).costs.traffic)
      for (const workload::Call& call : stage.inside[static_cast<std::size_t>(kind)])
        count += call.times;
    return count;
  };
  const std::string forward = ", layer_times: {forward: 10 ms}";
  CHECK(calls(forward, PassKind::backward) == calls("", PassKind::backward));
  // The measured times of layers include their collectives, so these are removed. One call of the
  // embedding and three of the loss remain.
  CHECK(calls("", PassKind::forward) > 64);
  CHECK(calls(forward, PassKind::forward) == calls("", PassKind::forward) - 64);
}

TEST_CASE("a given boundary tensor replaces the modelled one", "[modelled]") {
  CHECK(plan("schedule: 1f1b").costs.boundary_bytes == 2ULL * 8192 * 4096);
  CHECK(plan("schedule: 1f1b, boundary_tensor: 4 GiB").costs.boundary_bytes == 4 * gib);
  CHECK(plan("schedule: 1f1b, boundary_tensor: 0 B").costs.boundary_bytes == 0);
  // With tp 4, all GPUs of a group hold the tensor of 4 GiB, and each sends a quarter of it.
  const auto cut = plan("schedule: 1f1b, parallel: {tp: 4}, boundary_tensor: 1 GiB").costs;
  CHECK(cut.boundary_bytes == gib);
  CHECK(cut.input_bytes.front() == 4 * gib);
}

TEST_CASE("given memory replaces the modelled memory, part by part", "[modelled]") {
  const workload::StageCosts model = plan(interleaved).costs;
  const workload::StageCosts with_memory =
      plan(interleaved +
           "state: {weights: 7 GiB, optimizer: [1 GiB, 2 GiB, 3 GiB, 4 GiB]}, "
           "activation: {per_microbatch: 6 GiB, released_by_input_grad: 50 %}")
          .costs;
  for (std::uint32_t device = 0; device < 4; ++device) {
    CHECK(with_memory.state[device].weights == 7 * gib);
    CHECK(with_memory.state[device].optimizer == (device + 1) * gib);
    CHECK(with_memory.state[device].gradients == model.state[device].gradients);
    CHECK(with_memory.state[device].buffers == model.state[device].buffers);
  }
  for (const workload::Activations& stage : with_memory.activations) {
    CHECK(stage.held == 3 * gib);
    CHECK(stage.released_by_input_grad == 3 * gib / 2);
    CHECK(stage.logits == 0);
    CHECK(stage.made_by_input_grad == 0);
  }
  CHECK(model.activations.back().logits > 0);
}

TEST_CASE("fused passes take their measured time", "[modelled]") {
  const workload::Plan fused_plan = plan("schedule: dualpipe-v, fused_times: 3");
  CHECK(fused_plan.costs.times.fused == std::vector<double>(8, 1.5));
  CHECK(plan("schedule: dualpipe-v").costs.times.fused.empty());
}

TEST_CASE("overlapped dispatch needs a schedule with fused pairs", "[modelled]") {
  const auto mixtral = [](const std::string& keys, std::uint32_t devices) {
    const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
        "{model: mixtral-8x7b, gpu: h100-sxm, microbatches: 16, parallel: {pp: " +
            std::to_string(devices) + ", dp: 8, ep: 8}, training: {experts: {overlap: true}}, " +
            keys + "}",
        "mine.yaml"));
    const workload::Gpus gpus(devices, *scenario.gpu);
    return workload::make_plan(scenario, scenario.schedules.front(), gpus);
  };
  for (const char* const schedule : {"interleaved-1f1b", "dualpipe-v", "dualpipe"}) {
    const workload::Plan overlapped = mixtral(fmt::format("schedule: {}", schedule), 4);
    CHECK(schedules::has_fused_pairs(overlapped.schedule));
    CHECK_FALSE(overlapped.costs.times.has_pair_times());
    // DualPipe runs W as separate passes anyway; other schedules do not.
    CHECK(overlapped.costs.weight_grads_apart == overlapped.schedule.name.starts_with("dualpipe"));
  }
  CHECK(mixtral("schedule: interleaved-1f1b, overlap: 0.9", 4).costs.times.overlap == 0.9);
  CHECK(mixtral("schedule: 1f1b", 1).schedule.programs[0].loops.at(1).body.at(0).fused);
  CHECK_THROWS_WITH(mixtral("schedule: 1f1b", 4),
                    Catch::Contains("need several chunks per device"));
  const std::string suggestion =
      "runs no forward pass together with a backward pass; use one of 1f1b, interleaved-1f1b, "
      "dualpipe, dualpipe-v, stp, or omit it";
  CHECK_THROWS_WITH(mixtral("schedule: zb-h1", 4),
                    "mine.yaml:1:137: training.experts.overlap is true, but zb-h1 " + suggestion);
  CHECK_THROWS_WITH(mixtral("schedule: searched", 4),
                    Catch::Contains("but searched " + suggestion));
  CHECK_THROWS_WITH(mixtral("schedule: {name: dualpipe, fused: false}", 4),
                    Catch::Contains("but dualpipe with fused: false " + suggestion));
}

TEST_CASE("pass_overhead is added to given times only", "[modelled]") {
  const workload::Plan model = plan("schedule: 1f1b");
  const workload::Plan with_overhead =
      plan("schedule: 1f1b, forward_times: 1, pass_overhead: 250 ms");
  CHECK(times(with_overhead, PassKind::forward) == std::vector<double>(4, 1.25));
  CHECK(times(with_overhead, PassKind::backward) == times(model, PassKind::backward));
  CHECK_THROWS_WITH(plan("schedule: 1f1b, pass_overhead: 250 ms"),
                    Catch::EndsWith("pass_overhead is added to given times of passes, and there "
                                    "are none; set stack.host.pass for the passes of a model"));
}

TEST_CASE("passes take as long as those of the slowest of many replicas", "[modelled]") {
  const auto forward = [](const std::string& keys) {
    return times(plan(keys), PassKind::forward)[1];
  };
  const double usual = forward("parallel: {dp: 1}");
  // Tables of the normal distribution give 1.4236 and 3.0444 standard deviations as the expected
  // maximum of 8 and of 512 values (L. Tippett, Biometrika 17, 1925).
  const std::string spread = ", stack: {like: megatron-core, replica_spread: 2 %}";
  CHECK(forward("parallel: {dp: 512}" + spread) / usual - 1 ==
        Approx(0.02 * (3.0444 - 1.4236)).epsilon(0.05));
  CHECK(forward("parallel: {dp: 9}" + spread) > usual);
  CHECK(forward("parallel: {dp: 8}" + spread) == usual);
  CHECK(forward("parallel: {dp: 512}, stack: {like: megatron-core, replica_spread: 0}") == usual);
  // Measured pass times contain the wait, and random pass times cause it.
  CHECK(forward("parallel: {dp: 512}, forward_times: 1" + spread) == 1);
  CHECK(forward("parallel: {dp: 512}, variation: {jitter: 2 %}" + spread) == usual);
}
