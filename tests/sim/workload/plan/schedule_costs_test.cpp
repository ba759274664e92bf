#include "sim/workload/plan/schedule_costs.hpp"

#include <limits>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using config::test::error_of;

namespace {

config::Scenario scenario(const std::string& communication) {
  return config::read_scenario(config::read_yaml_text(
      "{devices: 2, microbatches: 4, forward_times: 1, backward_times: 2, parallel: {dp: 4}, "
      "communication: " +
          communication + "}",
      "s.yaml"));
}

// Returns costs of two stages, of which the second has `parameters` parameters.
workload::StageCosts with_parameters(std::uint64_t parameters) {
  workload::StageCosts costs;
  costs.traffic.resize(2);
  costs.traffic[1].parameters = parameters;
  return costs;
}

std::string fault(const std::string& communication, const workload::StageCosts& costs) {
  const config::Scenario scenario_with = scenario(communication);
  return error_of([&] { workload::check_limits(scenario_with, costs); });
}

}  // namespace

TEST_CASE("a stage has at most 100000 buckets", "[limits]") {
  CHECK(fault("{bucket: 4 kB}", with_parameters(100'000'000)).empty());
  CHECK(
      fault("{bucket: 3999}", with_parameters(100'000'000)) ==
      "s.yaml:1:111: communication.bucket is 3.999 kB, and the 400 MB of gradients of a stage make "
      "100026 buckets, more than the 100000 that are simulated; allowed: 4.02 kB or more");
  CHECK_THAT(fault("{bucket: 25}", with_parameters(100'000'000)),
             Catch::Contains("16000000 buckets") && Catch::Contains("did you mean '25 MB'?"));
  // With 2 instead of 4 bytes per gradient, half as many buckets are needed.
  CHECK(fault("{bucket: 2 kB, gradient_bytes: 2}", with_parameters(100'000'000)).empty());
}

TEST_CASE("a single replica has no buckets", "[limits]") {
  const config::Scenario alone = config::read_scenario(
      config::read_yaml_text("{devices: 2, microbatches: 4, forward_times: 1, backward_times: 2, "
                             "communication: {bucket: 1}}",
                             "s.yaml"));
  CHECK(error_of([&] { workload::check_limits(alone, with_parameters(100'000'000)); }).empty());
}

TEST_CASE("modelled pass times have the same limit as given ones", "[limits]") {
  const double seconds = GENERATE(1.1e9, std::numeric_limits<double>::infinity(), std::nan(""));
  workload::StageCosts costs;
  costs.times.of_stage[0] = {1e9, 2};
  CHECK(fault("{}", costs).empty());
  SECTION("a pass") {
    costs.times.of_stage[1] = {seconds, 2};
    CHECK_THAT(fault("{}", costs), Catch::Contains("allowed: at most 1e9 s"));
  }
  SECTION("an optimizer") {
    costs.optimizer_seconds = {1, seconds, 1};
    CHECK_THAT(fault("{}", costs), Catch::Contains("allowed: at most 1e9 s"));
  }
}

TEST_CASE("pass_overhead is added to each pass whose time is given", "[overhead]") {
  using schedules::PassKind;
  const config::Scenario with_overhead = config::read_scenario(config::read_yaml_text(
      "{devices: 2, microbatches: 4, forward_times: 1, input_grad_times: 2, weight_grad_times: 3, "
      "fused_times: 5, pass_overhead: 500 ms}",
      "s.yaml"));
  const auto schedule = schedules::make_schedule("zb-h1", {.devices = 2, .microbatches = 4});
  schedules::PassTimes times = workload::pass_times(with_overhead, schedule);
  CHECK(times[PassKind::forward] == std::vector{1.5, 1.5});
  CHECK(times[PassKind::recompute] == std::vector{1.5, 1.5});
  CHECK(times[PassKind::input_grad] == std::vector{2.5, 2.5});
  CHECK(times[PassKind::weight_grad] == std::vector{3.5, 3.5});
  CHECK(times[PassKind::backward] == std::vector{5.5, 5.5});  // one pass has one overhead
  CHECK(times.fused == std::vector{5.5, 5.5});
}
