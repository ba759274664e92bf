#include "sim/workload/plan/planner.hpp"

#include <numeric>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::PassKind;

namespace {

workload::Plan plan(const std::string& yaml) {
  const config::Scenario scenario =
      config::read_scenario(config::read_yaml_text(yaml, "mine.yaml"));
  return workload::make_plan(scenario, scenario.schedules.front());
}

const std::vector<double>& times(const workload::Plan& plan, PassKind kind) {
  return plan.costs.times.of_stage[static_cast<int>(kind)];
}

const std::string interleaved =
    "{devices: 2, microbatches: 4, schedule: {name: interleaved-1f1b, chunks: 2}, ";

}  // namespace

TEST_CASE("one time, or one per device, is divided among chunks; one per stage is not", "[plan]") {
  const auto forward = [](const std::string& values) {
    return times(plan(interleaved + "forward_times: " + values + ", backward_times: 1}"),
                 PassKind::forward);
  };
  CHECK(forward("3") == std::vector<double>{1.5, 1.5, 1.5, 1.5});
  CHECK(forward("[3, 5]") == std::vector<double>{1.5, 2.5, 1.5, 2.5});
  CHECK(forward("[1, 2, 3, 4]") == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("B takes as long as I and W together if both are given", "[plan]") {
  const auto backward_plan = plan(
      "{devices: 2, microbatches: 4, forward_times: 1, input_grad_times: [1, 2], "
      "weight_grad_times: 0.5}");
  CHECK(times(backward_plan, PassKind::backward) == std::vector<double>{1.5, 2.5});
  CHECK(times(backward_plan, PassKind::input_grad) == std::vector<double>{1, 2});
}

TEST_CASE("chunks share the activations of their device to the byte", "[plan]") {
  const auto interleaved_plan =
      plan(interleaved +
           "forward_times: 1, backward_times: 1, activation: {per_microbatch: "
           "[101, 7], released_by_input_grad: [51, 7]}}");
  const auto& stages = interleaved_plan.costs.activations;
  CHECK(stages[0].held + stages[2].held == 101);
  CHECK(stages[1].held + stages[3].held == 7);
  CHECK(stages[0].released_by_input_grad + stages[2].released_by_input_grad == 51);
  for (const auto& stage : stages) CHECK(stage.released_by_input_grad <= stage.held);
}

TEST_CASE("an error about the length of a list names the allowed lengths and the location",
          "[plan]") {
  CHECK_THROWS_WITH(
      plan("devices: 4\nmicrobatches: 8\nforward_times: [1, 2]\nbackward_times: 1"),
      "mine.yaml:3:16: forward_times has 2 values; 1f1b takes 1 or 4 (one per device)");
  CHECK_THROWS_WITH(plan(interleaved + "forward_times: [1, 2, 3], backward_times: 1}"),
                    Catch::EndsWith("forward_times has 3 values; interleaved-1f1b takes 1, 2 (one "
                                    "per device) or 4 (one per stage of 2 chunks per device)"));
}

TEST_CASE("an impossible schedule is rejected at its location", "[plan]") {
  CHECK_THROWS_WITH(
      plan("devices: 4\nmicrobatches: 8\nforward_times: 1\nbackward_times: 1\nschedule: 2f2b"),
      Catch::StartsWith("mine.yaml:5:11: no schedule is called '2f2b'; there are gpipe, "));
  CHECK_THROWS_WITH(plan("{devices: 4, microbatches: 8, forward_times: 1, backward_times: 1, "
                         "schedule: {name: 1f1b, chunks: 2}}"),
                    Catch::Contains("1f1b: takes no number of chunks"));
}

// Device 0 runs 32 forward passes in 32 s, and then waits 2 s: its first gradient arrives at 34 s,
// after 16 F, 15 I and 30 hops. No order can avoid this.
TEST_CASE("zb-2p with half of the activations released by I loses only the minimum", "[plan]") {
  const std::string times =
      "{devices: 16, microbatches: 64, schedule: zb-2p, forward_times: 1, input_grad_times: 1.1, "
      "weight_grad_times: 0.7, p2p_time: 50 ms";
  const auto span = [](const workload::Plan& plan) {
    return tests::timed(plan.schedule, plan.costs.times, 0.05).span;
  };
  CHECK(span(plan(times + "}")) == Approx(181.2));
  CHECK(span(plan(times + ", activation: {per_microbatch: 1 GiB}}")) == Approx(181.2));

  const auto all_by_w =
      plan(times + ", activation: {per_microbatch: 1 GiB, released_by_input_grad: 0}}");
  CHECK(span(all_by_w) > 181.2);
  for (const double held : schedules::peak_in_flight(all_by_w.schedule)) CHECK(held <= 32);
}

TEST_CASE("memory that exceeds 63 bits is rejected", "[plan]") {
  CHECK_THROWS_WITH(plan("{devices: 8, microbatches: 64, forward_times: 1, backward_times: 1, "
                         "activation: {per_microbatch: 4194304 TiB}}"),
                    Catch::Contains("device 0 would hold 3.69e+19 bytes"));
}
