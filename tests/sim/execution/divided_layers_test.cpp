#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"
#include "support/jobs.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using config::test::error_of;
using execution::EngineKind;
using trace::CollectiveKind;

// Tests of schedules whose stages are parts of layers: matrices, which are on one device, and
// attention, which has no weights and runs on all devices.
namespace {

constexpr std::uint64_t mib = 1ULL << 20U;

workload::Plan plan(const std::string& keys) {
  const config::Scenario scenario =
      config::read_scenario(config::read_yaml_text("{" + keys + "}", "s.yaml"));
  return workload::make_plan(scenario, scenario.schedules.front(), {});
}

const std::string given_times =
    "devices: 2, microbatches: 4, forward_times: [1, 4, 2, 4, 1], backward_times: [2, 8, 4, 8, 2], "
    "schedule: {name: helixpipe, layers_per_device: 1, fold: 2}";

}  // namespace

TEST_CASE("times of each stage apply to matrices and attention in turn", "[divided_layers]") {
  const workload::Plan with_times = plan(given_times);
  CHECK(with_times.costs.times[schedules::PassKind::forward] == std::vector<double>{1, 4, 2, 4, 1});
  CHECK(with_times.costs.times[schedules::PassKind::backward] ==
        std::vector<double>{2, 8, 4, 8, 2});
}

TEST_CASE("devices hold no copies of weights for attention", "[divided_layers]") {
  const workload::Plan with_state =
      plan(given_times +
           ", state: {weights: [10 MiB, 20 MiB], gradients: [40 MiB, 60 MiB]}, "
           "parallel: {dp: 2}, communication: {gradient_bytes: 4}");
  REQUIRE(with_state.costs.state.size() == 2);
  CHECK(with_state.costs.state[0].weights == 10 * mib);
  CHECK(with_state.costs.state[1].weights == 20 * mib);
  // Device 0 has two parts with matrices, device 1 has one.
  const auto parameters = [&](std::uint32_t stage) {
    return with_state.costs.traffic[stage].parameters;
  };
  CHECK(parameters(0) == 5 * mib);
  CHECK(parameters(1) == 0);
  CHECK(parameters(2) == 15 * mib);
  CHECK(parameters(3) == 0);
  CHECK(parameters(4) == 5 * mib);
}

TEST_CASE("a model is refused if layers are divided among stages", "[divided_layers]") {
  const auto fault = [](const std::string& schedule) {
    return error_of([&] {
      const config::Scenario scenario = config::read_scenario(config::read_yaml_text(
          "{model: llama-3-8b, gpu: h100-sxm, devices: 4, microbatches: 8, schedule: " + schedule +
              "}",
          "s.yaml"));
      workload::make_plan(scenario, scenario.schedules.front(), workload::Gpus(4, *scenario.gpu));
    });
  };
  CHECK(fault("1f1b").empty());
  CHECK_THAT(fault("helixpipe"),
             Catch::StartsWith("s.yaml:1:") &&
                 Catch::Contains("helixpipe divides layers into attention and the matrices around "
                                 "it, and the times, memory and boundary tensors of these parts "
                                 "are not modelled; allowed: a scenario without model"));
}

TEST_CASE("gradients of divided layers are reduced once, after the last microbatch",
          "[divided_layers]") {
  const auto cluster = tests::mesh_cluster(16);
  for (const std::uint32_t fold : {1U, 2U})
    for (const EngineKind engine : {EngineKind::timing, EngineKind::simgrid}) {
      tests::HybridJob job(schedules::make_schedule("helixpipe", {.devices = 4,
                                                                  .microbatches = 8,
                                                                  .iterations = 2,
                                                                  .layers_per_device = 2,
                                                                  .fold = fold}),
                           {.dp = 2});
      job.set_parameters(1000);
      const trace::Trace trace = job.run(cluster, engine);
      CAPTURE(fold, engine == EngineKind::timing);
      for (std::uint32_t device = 0; device < 4; ++device) {
        // Two parameter parts and, on device 0, the loss; in two iterations.
        const std::size_t reductions = 2 * (device == 0 ? 3 : 2);
        const auto rows = tests::collectives(trace, device, CollectiveKind::reduce_gradients);
        CHECK(rows.size() == reductions);
        for (const trace::CollectiveRow& row : rows) {
          CHECK(row.stage % 2 == 0);
          for (const trace::PassRow& pass : trace.passes)
            if (pass.device == device && pass.stage == row.stage && pass.iteration == row.iteration)
              CHECK(pass.end <= row.start + 1e-9);
        }
      }
    }
}

TEST_CASE("both engines run HelixPipe with given times in the time of its closed form",
          "[divided_layers]") {
  for (const std::uint32_t fold : {1U, 2U})
    for (const EngineKind engine : {EngineKind::timing, EngineKind::simgrid}) {
      const auto schedule = schedules::make_schedule(
          "helixpipe", {.devices = 4, .microbatches = 16, .layers_per_device = 3, .fold = fold});
      tests::HybridJob job(schedule, {});
      job.costs.boundary_bytes = 0;
      for (auto& seconds : job.costs.times.of_stage)
        for (std::uint32_t stage = 0; stage < seconds.size(); ++stage)
          seconds[stage] = stage % 2 == 0 ? 2 : 5;
      double end = 0;
      for (const trace::PassRow& pass : job.run(tests::mesh_cluster(4), engine).passes)
        end = std::max(end, pass.end);
      // Device 0 runs 4 parameter parts and the attention of 3 layers for each microbatch without
      // a pause, except that transfers have a latency.
      const double busy = 16 * 2 * (4 * 2 + 3 * 5);
      CAPTURE(fold, engine == EngineKind::timing);
      CHECK(end >= busy * (1 - 1e-12));
      CHECK(end <= busy + 8 * 4 * tests::mesh_latency * schedule.stages());
    }
}
