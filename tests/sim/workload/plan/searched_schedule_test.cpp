#include "sim/workload/plan/searched_schedule.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/search/search.hpp"
#include "schedules/timing.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/plan/planner.hpp"

using namespace pipewright;

namespace {

config::Scenario scenario(const std::string& yaml) {
  return config::read_scenario(config::read_yaml_text("{" + yaml + "}", "mine.yaml"));
}

workload::Plan plan(const config::Scenario& scenario) {
  return workload::make_plan(scenario, scenario.schedules.front());
}

double makespan(const workload::Plan& plan) {
  const schedules::HopTimes hops(0);
  double latest = 0;
  schedules::Timing timing(plan.schedule, plan.costs.times, hops, schedules::P2p::eager);
  timing.run([&](std::uint32_t, const schedules::Pass&, const schedules::PassSpan& span) {
    latest = std::max(latest, span.end);
  });
  return latest;
}

const std::string unit_passes =
    "devices: 4, microbatches: 8, forward_times: 1, input_grad_times: 1, weight_grad_times: 1, ";

std::string searched(const std::string& limit) {
  return unit_passes + "schedule: {name: searched, memory_limit: " + limit +
         "}, activation: {per_microbatch: 4 GiB}, state: {weights: 8 GiB}";
}

}  // namespace

TEST_CASE("a searched order is as short as the best of the catalog", "[searched]") {
  // The best schedule of the catalog, ZB-V, takes 8 x 3 s and, before that, 1.5 s until the first
  // microbatch has reached the last device.
  CHECK(makespan(plan(scenario(unit_passes + "schedule: searched"))) == Approx(25.5));
}

TEST_CASE("a searched order stays within the given memory, including the static part",
          "[searched]") {
  double previous = 0;
  for (const double gib : {72.0, 24.0, 20.0, 16.0, 12.0}) {
    const workload::Plan searched_plan = plan(scenario(searched(std::to_string(gib) + " GiB")));
    const std::vector<double> held = schedules::peak_in_flight(searched_plan.schedule);
    CHECK(*std::ranges::max_element(held) <= (gib - 8) / 4 + 1e-9);
    CHECK(makespan(searched_plan) >= previous - 1e-9);
    previous = makespan(searched_plan);
  }
  CHECK(previous > 1.5 * 25.5);  // the value of the memory of one microbatch
}

TEST_CASE("a limit below one microbatch is an error at the schedule", "[searched]") {
  CHECK_THROWS_WITH(plan(scenario(searched("11 GiB"))),
                    Catch::Contains("searched: no order of passes fits into the memory"));
}

TEST_CASE("whole backward times leave no order to search", "[searched]") {
  CHECK_THROWS_WITH(plan(scenario("devices: 4, microbatches: 8, forward_times: 1, backward_times: "
                                  "2, schedule: searched")),
                    Catch::Contains("give input_grad_times and weight_grad_times"));
}

TEST_CASE("a searched order is never faster than its bound", "[searched]") {
  for (const char* times : {"1", "[3, 1, 2, 2]", "[1, 1, 1, 4]"})
    for (const char* limit : {"72 GiB", "20 GiB", "13 GiB"}) {
      const config::Scenario mixed_times = scenario(
          std::string("devices: 4, microbatches: 9, p2p_time: 0.25, forward_times: ") + times +
          ", input_grad_times: 1.5, weight_grad_times: 0.5, schedule: {name: searched, "
          "memory_limit: " +
          limit + "}, activation: {per_microbatch: 4 GiB}, state: {weights: 8 GiB}");
      const schedules::SearchRequest request =
          workload::search_request(mixed_times, mixed_times.schedules.front(), {}, {});
      const schedules::SearchResult result =
          schedules::search(request, [](const schedules::SearchProgress&) { return true; });
      CHECK(schedules::lower_bound(request) <= result.makespan * (1 + 1e-12));
      CHECK(schedules::lower_bound(request) == Approx(result.lower_bound));
    }
}

TEST_CASE("the search includes waits for the network", "[searched]") {
  const config::Scenario unit_scenario = scenario(unit_passes + "schedule: searched");
  workload::NetworkEstimate estimate;
  estimate.add_waits = [](const schedules::Routes&, workload::StageCosts& costs) {
    for (double& time : costs.times.of_stage[0]) time *= 2;
  };
  const schedules::SearchRequest request =
      workload::search_request(unit_scenario, unit_scenario.schedules.front(), {}, estimate);
  const auto pipeline = request.pipeline(schedules::Routes::looped(4, 1));
  CHECK(pipeline->times.of_stage[0] == std::vector<double>{2, 2, 2, 2});
}

TEST_CASE("a hop is estimated on the placement of the plan", "[searched]") {
  const config::Scenario unit_scenario =
      scenario(unit_passes + "schedule: searched, boundary_tensor: 3 B");
  workload::NetworkEstimate estimate;
  estimate.hop = [](const schedules::Routes& routes, std::uint64_t bytes) {
    return routes.stages() + 0.125 * static_cast<double>(bytes);
  };
  const schedules::SearchRequest request =
      workload::search_request(unit_scenario, unit_scenario.schedules.front(), {}, estimate);
  CHECK(request.pipeline(schedules::Routes::looped(4, 1))->hop == 4.375);
  CHECK(request.pipeline(schedules::Routes::v_shape(4))->hop == 8.375);
}
