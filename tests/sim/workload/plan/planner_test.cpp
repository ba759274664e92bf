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

TEST_CASE("a time, or one per device, is shared by the chunks, but one per stage is not",
          "[plan]") {
  const auto forward = [](const std::string& given) {
    return times(plan(interleaved + "forward_times: " + given + ", backward_times: 1}"),
                 PassKind::forward);
  };
  CHECK(forward("3") == std::vector<double>{1.5, 1.5, 1.5, 1.5});
  CHECK(forward("[3, 5]") == std::vector<double>{1.5, 2.5, 1.5, 2.5});
  CHECK(forward("[1, 2, 3, 4]") == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("B is I and W together where both are given", "[plan]") {
  const auto made = plan(
      "{devices: 2, microbatches: 4, forward_times: 1, input_grad_times: [1, 2], "
      "weight_grad_times: 0.5}");
  CHECK(times(made, PassKind::backward) == std::vector<double>{1.5, 2.5});
  CHECK(times(made, PassKind::input_grad) == std::vector<double>{1, 2});
}

TEST_CASE("a device's activations are shared by its chunks to the byte", "[plan]") {
  const auto made = plan(interleaved +
                         "forward_times: 1, backward_times: 1, activation: {per_microbatch: "
                         "[101, 7], released_by_input_grad: [51, 7]}}");
  const auto& stages = made.costs.activations;
  CHECK(stages[0].held + stages[2].held == 101);
  CHECK(stages[1].held + stages[3].held == 7);
  CHECK(stages[0].released_by_input_grad + stages[2].released_by_input_grad == 51);
  for (const auto& stage : stages) CHECK(stage.released_by_input_grad <= stage.held);
}

TEST_CASE("a list of a wrong length says which lengths are right, and where", "[plan]") {
  CHECK_THROWS_WITH(
      plan("devices: 4\nmicrobatches: 8\nforward_times: [1, 2]\nbackward_times: 1"),
      "mine.yaml:3:16: forward_times has 2 values; 1f1b takes 1 or 4 (one per device)");
  CHECK_THROWS_WITH(plan(interleaved + "forward_times: [1, 2, 3], backward_times: 1}"),
                    Catch::EndsWith("forward_times has 3 values; interleaved-1f1b takes 1, 2 (one "
                                    "per device) or 4 (one per stage of 2 chunks a device)"));
}

TEST_CASE("a schedule that cannot be is refused where it was asked for", "[plan]") {
  CHECK_THROWS_WITH(
      plan("devices: 4\nmicrobatches: 8\nforward_times: 1\nbackward_times: 1\nschedule: 2f2b"),
      Catch::StartsWith("mine.yaml:5:11: no schedule is called '2f2b'; there are gpipe, "));
  CHECK_THROWS_WITH(plan("{devices: 4, microbatches: 8, forward_times: 1, backward_times: 1, "
                         "schedule: {name: 1f1b, chunks: 2}}"),
                    Catch::Contains("1f1b: takes no number of chunks"));
}

// Device 0 forwards 32 microbatches, 32 s, before the gradient of the first comes after 16 F, 15 I
// and 30 hops, 34 s: 2 s are lost however the rest is arranged.
TEST_CASE("zb-2p with half of the activations released by I loses what no order can save",
          "[plan]") {
  const std::string times =
      "{devices: 16, microbatches: 64, schedule: zb-2p, forward_times: 1, input_grad_times: 1.1, "
      "weight_grad_times: 0.7, p2p_time: 50 ms";
  const auto span = [](const workload::Plan& made) {
    return tests::timed(made.schedule, made.costs.times, 0.05).span;
  };
  CHECK(span(plan(times + "}")) == Approx(181.2));
  CHECK(span(plan(times + ", activation: {per_microbatch: 1 GiB}}")) == Approx(181.2));

  const auto all_by_w =
      plan(times + ", activation: {per_microbatch: 1 GiB, released_by_input_grad: 0}}");
  CHECK(span(all_by_w) > 181.2);
  for (const double held : schedules::peak_in_flight(all_by_w.schedule)) CHECK(held <= 32);
}

TEST_CASE("memory beyond what can be counted is refused", "[plan]") {
  CHECK_THROWS_WITH(plan("{devices: 8, microbatches: 64, forward_times: 1, backward_times: 1, "
                         "activation: {per_microbatch: 4194304 TiB}}"),
                    Catch::Contains("device 0 would hold 3.69e+19 bytes"));
}
