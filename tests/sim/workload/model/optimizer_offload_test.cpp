#include "sim/workload/model/optimizer_offload.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"
#include "support/program.hpp"
#include "tests/sim/config/support.hpp"

// Tests of an optimizer whose state is in host memory and whose step the CPU makes. The model,
// Llama 3 8B, has P parameters; the state has 12 bytes of each, and the CPU reads and writes 28:
// the gradient, and twice main weights and two moments in fp32.

using namespace pipewright;
using config::test::error_of;

namespace {

workload::StageCosts costs(const std::string& training, const std::string& more = "",
                           double host_memory_bandwidth = 0) {
  const config::Scenario scenario = config::read_scenario(
      config::read_yaml_text("{model: llama-3-8b, devices: 1, microbatches: 8, gpu: h100-sxm, " +
                                 more + " training: {" + training + "}}",
                             "s.yaml"));
  config::Gpu gpu = *scenario.gpu;
  gpu.host_memory_bandwidth = host_memory_bandwidth;
  const workload::Gpus gpus(1, gpu);
  return workload::make_plan(scenario, scenario.schedules.front(), gpus).costs;
}

std::string offload(const std::string& keys) { return "optimizer: {offload: {" + keys + "}}"; }

double parameters() { return static_cast<double>(costs("").state[0].optimizer) / 12; }

double step(const std::string& keys, const std::string& more = "") {
  return costs(offload(keys), more).optimizer_seconds[0];
}

// Seconds of a step besides copies and the CPU's work.
double fixed_seconds() {
  constexpr double fast = 1e6 * 1e9;
  return step("bandwidth: 1e6 GB/s, memory_bandwidth: 1e6 GB/s") -
         (4 + 28 + 4) * parameters() / fast;
}

}  // namespace

TEST_CASE("the state of an optimizer on the host does not occupy GPU memory", "[offload]") {
  const workload::DeviceState resident = costs("").state[0];
  const auto optimizer_bytes = [](const std::string& keys) {
    return static_cast<double>(costs(offload(keys)).state[0].optimizer);
  };
  const auto whole = static_cast<double>(resident.optimizer);
  CHECK(parameters() == Approx(8030261248.0));
  CHECK(optimizer_bytes("") == 0);
  CHECK(optimizer_bytes("fraction: 1") == 0);
  CHECK(optimizer_bytes("fraction: 0.25") == Approx(0.75 * whole));
  CHECK(optimizer_bytes("fraction: 50 %") == Approx(0.5 * whole));
  // Weights and gradients stay on the GPU.
  CHECK(costs(offload("")).state[0].weights == resident.weights);
  CHECK(costs(offload("")).state[0].gradients == resident.gradients);
}

TEST_CASE("a step on the host copies gradients down, updates, and copies weights up", "[offload]") {
  const double p = parameters();
  const double fixed = fixed_seconds();
  const std::string rates = "bandwidth: 50 GB/s, memory_bandwidth: 70 GB/s";
  CHECK(step(rates) == Approx(fixed + 4 * p / 50e9 + 28 * p / 70e9 + 4 * p / 50e9));
  CHECK(step(rates + ", fraction: 0.5") ==
        Approx(fixed + 0.5 * (4 * p / 50e9 + 28 * p / 70e9 + 4 * p / 50e9)));
  // The GPU's PCIe reaches 55 GB/s.
  CHECK(step("memory_bandwidth: 70 GB/s") == Approx(fixed + 8 * p / 55e9 + 28 * p / 70e9));
}

TEST_CASE("the step of the CPU is bound by the node's memory or by its threads", "[offload]") {
  const double p = parameters();
  const double fixed = fixed_seconds();
  const auto on_node = [&](const std::string& keys, double share) {
    return costs(offload(keys), "", share).optimizer_seconds[0];
  };
  CHECK(on_node("bandwidth: 1e6 GB/s", 61.25e9) == Approx(fixed + 28 * p / 61.25e9).epsilon(1e-4));
  // A core reaches 20 GB/s.
  CHECK(on_node("bandwidth: 1e6 GB/s, threads: 2", 61.25e9) ==
        Approx(fixed + 28 * p / 40e9).epsilon(1e-4));
  CHECK(on_node("bandwidth: 1e6 GB/s, threads: 16", 61.25e9) ==
        on_node("bandwidth: 1e6 GB/s", 61.25e9));
  // Without a number of the node, 61 GB/s are assumed.
  CHECK(on_node("bandwidth: 1e6 GB/s", 0) == Approx(fixed + 28 * p / 61e9).epsilon(1e-4));
}

TEST_CASE("with overlap, the slowest of copies and updates determines the step", "[offload]") {
  const double p = parameters();
  const double fixed = fixed_seconds();
  const double copy = 4 * p / 50e9;
  // 6 tensors of each of 32 layers, the embedding, the last norm and the head are updated in turn.
  constexpr double tensors = 195;
  CHECK(step("overlap: true, bandwidth: 50 GB/s, memory_bandwidth: 70 GB/s") ==
        Approx(fixed + 28 * p / 70e9 + 2 * copy / tensors));
  CHECK(step("overlap: true, bandwidth: 50 GB/s, memory_bandwidth: 7000 GB/s") ==
        Approx(fixed + copy + (copy + 28 * p / 7000e9) / tensors));
}

TEST_CASE("more of the optimizer on the host takes less memory and more time", "[offload]") {
  for (const std::string more :
       {"", ", overlap: true", ", threads: 1", ", overlap: true, threads: 4"}) {
    CAPTURE(more);
    workload::StageCosts less = costs("");
    for (const std::string fraction : {"0.1", "0.3", "0.7", "1"}) {
      CAPTURE(fraction);
      workload::StageCosts made = costs(offload("fraction: " + fraction + more));
      CHECK(made.state[0].optimizer < less.state[0].optimizer);
      CHECK(made.optimizer_seconds[0] > less.optimizer_seconds[0]);
      less = std::move(made);
    }
  }
}

TEST_CASE("gradients and shards of weights on the host are copied by each pass", "[offload]") {
  const std::string sharded = "parallel: {dp: 8, zero: 3},";
  const std::string all = "gradients: true, weights: true";
  const workload::StageCosts resident = costs("", sharded);
  const workload::StageCosts moved = costs(offload(all), sharded);
  CHECK(resident.state[0].weights > 0);
  CHECK(moved.state[0].weights == 0);
  CHECK(moved.state[0].gradients == 0);
  CHECK(moved.state[0].optimizer == 0);
  CHECK(costs(offload("gradients: true"), sharded).state[0].weights == resident.state[0].weights);
  const double p = parameters();
  const auto seconds = [](const workload::StageCosts& costs, schedules::PassKind kind) {
    return costs.times.of_stage[static_cast<std::size_t>(kind)][0];
  };
  const workload::StageCosts slow = costs(offload(all + ", bandwidth: 1 GB/s"), sharded);
  constexpr double overhead = 0.4e-3;  // of a pass, by the default stack
  // A shard has an eighth of the weights, 2 bytes each, and of the gradients, 4 bytes each.
  CHECK(seconds(slow, schedules::PassKind::forward) == Approx(2 * p / 8 / 1e9 + overhead));
  CHECK(seconds(slow, schedules::PassKind::backward) == Approx(4 * p / 8 / 1e9 + overhead));
  // The step copies neither, and casts main weights to the weights that it writes.
  const double unmoved = costs(offload("bandwidth: 1e6 GB/s, memory_bandwidth: 1e6 GB/s"), sharded)
                             .optimizer_seconds[0];
  CHECK(costs(offload(all + ", bandwidth: 1 GB/s, memory_bandwidth: 70 GB/s"), sharded)
            .optimizer_seconds[0] == Approx(unmoved + (28 + 6) * p / 8 / 70e9).epsilon(1e-3));
}

TEST_CASE("an offload that the scenario cannot have is refused", "[offload]") {
  CHECK_THAT(
      error_of([] { costs(offload("gradients: true")); }),
      Catch::Contains("training.optimizer.offload.gradients is true, but parallel.zero is 0") &&
          Catch::Contains("set parallel.zero to 2 or 3"));
  CHECK_THAT(error_of([] { costs(offload("weights: true"), "parallel: {dp: 8, zero: 2},"); }),
             Catch::Contains("parallel.zero is 2, which does not shard weights"));
  for (const std::string wrong : {"fraction: 1.5", "fraction: -1", "threads: 0", "overlap: maybe",
                                  "bandwidth: 10", "memory: 3", "memory_bandwidth: fast"}) {
    CAPTURE(wrong);
    CHECK_THAT(error_of([&] { costs(offload(wrong)); }),
               Catch::Contains("s.yaml:1") && Catch::Contains("training.optimizer.offload"));
  }
  const std::string gpu_without_host =
      "gpu: {name: mine, like: none, flops: 100 TFLOP/s, memory: 80 GiB, memory_bandwidth: 1 TB/s, "
      "processors: 100},";
  const auto fault = error_of([&] {
    const config::Scenario scenario = config::read_scenario(
        config::read_yaml_text("{model: llama-3-8b, devices: 1, microbatches: 8, " +
                                   gpu_without_host + " training: {optimizer: {offload: {}}}}",
                               "s.yaml"));
    workload::make_plan(scenario, scenario.schedules.front(), workload::Gpus(1, *scenario.gpu));
  });
  CHECK_THAT(fault, Catch::EndsWith("give training.optimizer.offload.bandwidth, such as 55 GB/s"));
}

TEST_CASE("both engines agree on a step of the host, and the cluster gives its rate", "[offload]") {
  const tests::CommandFolder place;
  const auto seconds = [&](const std::string& words, const std::string& engine) {
    const tests::ProgramResult run = place.run(
        "run --model llama-3-8b -s 2 --dp 2 --zero 1 --global-batch 16 --schedule 1f1b --json "
        "--quiet --engine " +
        engine + " --cluster dgx-h100 " + words);
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.out);
    return (document.is_array() ? document.at(0) : document).at("makespan_s").get<double>();
  };
  const std::string offloaded = "--set training.optimizer.offload.fraction=1";
  CHECK(seconds(offloaded, "simgrid") == Approx(seconds(offloaded, "timing")).epsilon(1e-3));
  CHECK(seconds(offloaded, "timing") > seconds("", "timing") + 1);
  // 490 GB/s of the node are 61.25 for each of its 8 GPUs.
  CHECK(seconds(offloaded, "timing") ==
        seconds(offloaded + " --set training.optimizer.offload.memory_bandwidth='61.25 GB/s'",
                "timing"));
}
