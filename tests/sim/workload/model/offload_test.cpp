#include <array>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"
#include "tests/sim/config/support.hpp"

// Tests of activations that are moved to host memory until their backward pass. The model, Llama 3
// 8B, has 32 layers, 8 on each of four devices; the second device has only layers.

using namespace pipewright;
using config::test::error_of;
using schedules::PassKind;

namespace {

workload::StageCosts costs(const std::string& training, const std::string& gpu = "h100-sxm") {
  const config::Scenario scenario = config::read_scenario(
      config::read_yaml_text("{model: llama-3-8b, devices: 4, microbatches: 8, gpu: " + gpu +
                                 ", training: {" + training + "}}",
                             "s.yaml"));
  const workload::Gpus gpus(4, *scenario.gpu);
  return workload::make_plan(scenario, scenario.schedules.front(), gpus).costs;
}

double held(const workload::StageCosts& costs) {
  return static_cast<double>(costs.activations[1].held);
}

double seconds(const workload::StageCosts& costs, PassKind kind) {
  return costs.times.of_stage[static_cast<std::size_t>(kind)][1];
}

}  // namespace

TEST_CASE("offloaded activations do not occupy GPU memory", "[offload]") {
  const workload::StageCosts resident = costs("");
  const double layer = held(resident) / 8;
  CHECK(held(costs("offload: {num_layers: 2}")) == Approx(6 * layer));
  CHECK(held(costs("offload: {cpu_offloading_num_layers: 8}")) == 0);
  CHECK(held(costs("offload: {share: 25 %}")) == Approx(6 * layer));
  CHECK(held(costs("offload: {num_layers: 4, share: 0.5}")) == Approx(6 * layer));
}

TEST_CASE("multi-token prediction is offloaded if all layers are", "[offload]") {
  const auto held_by_stage = [](const std::string& training) {
    const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
        "{model: {layers: 4, hidden: 64, heads: 8, vocabulary: 1000, sequence: 32, mtp_layers: 1}, "
        "devices: 2, microbatches: 8, gpu: h100-sxm, training: {" +
            training + "}}",
        "s.yaml"));
    const workload::Gpus gpus(2, *scenario.gpu);
    const workload::StageCosts made =
        workload::make_plan(scenario, scenario.schedules.front(), gpus).costs;
    return std::array{static_cast<double>(made.activations[0].held),
                      static_cast<double>(made.activations[1].held)};
  };
  const double layer = held_by_stage("")[0] / 2;
  CHECK(held_by_stage("offload: {num_layers: 2}")[1] == Approx(held_by_stage("")[1] - 2 * layer));
  CHECK(held_by_stage("offload: {}")[1] == Approx(held_by_stage("")[1] - 3 * layer));
}

TEST_CASE("buffers on the GPU hold two layers, beside those that stay there", "[offload]") {
  const workload::StageCosts resident = costs("");
  const double layer = held(resident) / 8;
  const auto buffers = [&](const std::string& offload) {
    return static_cast<double>(costs("offload: " + offload).state[1].buffers -
                               resident.state[1].buffers);
  };
  // While the first layers run, those that stay hold nothing yet, or nothing any more.
  CHECK(buffers("{num_layers: 1}") == 0);
  CHECK(buffers("{num_layers: 6}") == 0);
  CHECK(buffers("{num_layers: 7}") == Approx(layer));
  CHECK(buffers("{num_layers: 8}") == Approx(2 * layer));
  CHECK(buffers("{share: 0.5}") == Approx(layer));
}

TEST_CASE("a pass takes at least the time of its copies", "[offload]") {
  const workload::StageCosts resident = costs("");
  const workload::StageCosts fast = costs("offload: {num_layers: 4, bandwidth: 1000 TB/s}");
  const workload::StageCosts slow = costs("offload: {num_layers: 4, bandwidth: 1 GB/s}");
  const double overhead = 0.4e-3;  // of a pass, by the default stack
  const double copy = held(resident) / 2 / 1e9 + overhead;
  for (const auto kind : {PassKind::forward, PassKind::input_grad, PassKind::backward}) {
    CHECK(seconds(fast, kind) == seconds(resident, kind));
    CHECK(seconds(slow, kind) == Approx(copy));
  }
  CHECK(seconds(slow, PassKind::weight_grad) == seconds(resident, PassKind::weight_grad));
}

TEST_CASE("the bandwidth of the host comes from the GPU file or from the scenario", "[offload]") {
  const std::string gpu_without_host =
      "{name: mine, like: none, flops: 100 TFLOP/s, memory: 80 GiB, memory_bandwidth: 1 TB/s, "
      "processors: 100";
  CHECK_THAT(error_of([&] { costs("offload: {num_layers: 1}", gpu_without_host + "}"); }),
             Catch::EndsWith("the file of the GPU 'mine' does not have; give "
                             "training.offload.bandwidth, such as 55 GB/s"));
  const auto forward = [&](const std::string& bandwidth) {
    return seconds(costs("offload: {}", gpu_without_host + bandwidth + "}"), PassKind::forward);
  };
  CHECK(forward(", host_bandwidth: 1 GB/s") > 1.9 * forward(", host_bandwidth: 2 GB/s"));
}

TEST_CASE("fine-grained offloading moves the tensors that modules save", "[offload]") {
  const workload::StageCosts resident = costs("");
  const auto moved = [&](const std::string& modules) {
    return (held(resident) - held(costs("offload: {modules: [" + modules + "]}"))) / 8;
  };
  // A layer of Llama 3 8B has 8192 tokens, hidden 4096, 8 heads of keys and values of 128 each, and
  // values of 2 bytes.
  constexpr double hidden = 2.0 * 8192 * 4096;
  constexpr double keys = 2.0 * 8192 * 8 * 128;
  CHECK(moved("core_attn") == Approx(hidden + 2 * keys));
  CHECK(moved("core_attn, attn_proj") == Approx(2 * hidden + 2 * keys));
  CHECK(moved("qkv_linear") == Approx(2 * hidden));  // the layer's input and the norm's result
  CHECK(moved("attn_norm") == 0);                    // the norm is a part of the product
  CHECK((held(resident) -
         held(costs("offload: {modules: [qkv_linear], num_layers: 4, share: 0.5}"))) ==
        Approx(4 * 0.5 * 2 * hidden));
}

TEST_CASE("modules of experts are offloaded, and recomputed tensors are not", "[offload]") {
  const auto held_by = [](const std::string& training) {
    const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
        "{model: {layers: 2, hidden: 64, heads: 8, vocabulary: 1000, sequence: 32, mlp: swiglu, "
        "experts: {count: 4, top_k: 2, ffn: 128}}, devices: 2, microbatches: 8, gpu: h100-sxm, "
        "training: {experts: {routing: forced}, " +
            training + "}}",
        "s.yaml"));
    const workload::Gpus gpus(2, *scenario.gpu);
    return static_cast<double>(
        workload::make_plan(scenario, scenario.schedules.front(), gpus).costs.activations[0].held);
  };
  const double resident = held_by("");
  // 32 tokens go to 2 experts each; fc1 has 2 x 128 outputs.
  CHECK(resident - held_by("offload: {modules: [expert_fc1]}") == Approx(2.0 * 64 * 64));
  CHECK(resident - held_by("offload: {modules: [moe_act]}") == Approx(2.0 * 64 * 256));
  CHECK(resident - held_by("offload: {modules: [mlp_norm]}") == Approx(2.0 * 32 * 64));
  const std::string recompute = "recompute: {modules: [moe]}, ";
  CHECK(held_by(recompute + "offload: {modules: [expert_fc1, moe_act]}") == held_by(recompute));
}

TEST_CASE("modules that cannot be offloaded are refused", "[offload]") {
  CHECK_THAT(error_of([] { costs("offload: {modules: [attn_proj]}"); }),
             Catch::Contains("attn_proj only together with core_attn"));
  CHECK_THAT(error_of([] { costs("offload: {modules: [moe_act]}"); }),
             Catch::Contains("training.offload.modules has moe_act, which the layers of the model "
                             "do not have"));
  CHECK_THAT(error_of([] { costs("offload: {modules: [mlp]}"); }), Catch::Contains("core_attn"));
}
