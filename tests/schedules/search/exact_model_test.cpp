#include "tests/schedules/search/exact_model.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

#include <catch2/catch.hpp>

#include "schedules/search/bound.hpp"
#include "support/pipelines.hpp"
#include "support/plans.hpp"
#include "tests/schedules/search/exact.hpp"

using namespace pipewright;
using namespace pipewright::schedules;
using tests::one_at_a_time;

namespace {

constexpr int patience = 60;  // Seconds for one exact solution.

// Pipeline with one chunk per device and a second per cell; an activation has size 1.
Pipeline uneven(std::uint32_t devices, std::uint32_t microbatches, double hop, std::int64_t limit) {
  Pipeline pipeline =
      tests::pipeline(Routes::looped(devices, 1), devices, microbatches, {1, 1, 1}, hop, 0);
  tests::make_uneven(pipeline);
  pipeline.memory.held.assign(devices, 1);
  pipeline.memory.limit.assign(devices, limit);
  return pipeline;
}

// Returns the smallest makespan of all orders on two devices of one stage each, with microbatches
// in any order.
double best_of_all(const Pipeline& pipeline) {
  const auto all_orders = [&](std::uint16_t stage) {
    std::vector<PassKind> kinds{PassKind::forward, PassKind::input_grad, PassKind::weight_grad};
    if (!pipeline.recomputed.empty() && pipeline.recomputed[stage])
      kinds.insert(kinds.begin() + 1, PassKind::recompute);
    std::vector<std::uint32_t> next_microbatches;
    for (std::uint32_t k = 0; k < pipeline.microbatches; ++k)
      next_microbatches.insert(next_microbatches.end(), kinds.size(), k);
    std::vector<std::vector<Pass>> orders;
    do {
      std::vector<std::size_t> done(pipeline.microbatches);
      std::vector<Pass>& order = orders.emplace_back();
      for (const std::uint32_t k : next_microbatches) order.push_back({kinds[done[k]++], stage, k});
    } while (std::next_permutation(next_microbatches.begin(), next_microbatches.end()));
    return orders;
  };
  const Justifier justifier(pipeline);
  double best = std::numeric_limits<double>::infinity();
  const auto seconds = all_orders(1);
  for (const auto& first : all_orders(0))
    for (const auto& second : seconds)
      best = std::min(best, justifier.plan({first, second}).makespan);
  return best;
}

}  // namespace

TEST_CASE("no order is better than the exact solution", "[exact]") {
  Pipeline pipeline = uneven(2, 2, 0, 4);
  pipeline.hop = GENERATE(0, 1, 3);
  if (GENERATE(false, true)) pipeline.memory.held = {2, 3};
  if (GENERATE(false, true)) pipeline.memory.released_by_input_grad = {1, 1};
  if (GENERATE(false, true)) pipeline.recomputed = {true, true};
  const auto exact = solve_exactly(pipeline, 1, one_at_a_time(pipeline), patience);
  if (!exact) {
    WARN("skipped: there is no cbc on PATH");
    return;
  }
  CAPTURE(pipeline.hop, pipeline.memory.held, pipeline.recomputed.size());
  CHECK(exact->proven);
  CHECK(exact->plan.makespan == Approx(best_of_all(pipeline)));
}

TEST_CASE("the model is exact for uneven stages, early release and recomputation", "[exact]") {
  Pipeline pipeline = uneven(3, 5, 0, 5);
  pipeline.memory.held = {3, 2, 2};
  pipeline.memory.released_by_input_grad = {1, 2, 0};
  pipeline.memory.limit = {6, 4, 3};
  if (GENERATE(false, true)) pipeline.recomputed = {true, false, true};
  const auto exact = solve_exactly(pipeline, 1, one_at_a_time(pipeline), patience);
  if (!exact) {
    WARN("skipped: there is no cbc on PATH");
    return;
  }
  CHECK(exact->proven);
  CHECK(exact->plan.makespan >= lower_bound(pipeline, Objective::makespan) - 1e-9);
  tests::check_runs(pipeline, exact->plan);
  // A heuristic improvement of another order (justification) cannot be better than the exact
  // solution.
  const Plan justified =
      Justifier(pipeline).improve(one_at_a_time(pipeline), Pull::eager, Objective::makespan, 8);
  CHECK(exact->plan.makespan <= justified.makespan + 1e-9);
}

TEST_CASE("the exact solution does not depend on the unit of time", "[exact]") {
  Pipeline pipeline = uneven(3, 5, 1, 2);
  const auto in_seconds = solve_exactly(pipeline, 1, one_at_a_time(pipeline), patience);
  constexpr double unit = 0.0003;  // Not representable as a double.
  for (auto& of_kind : pipeline.times.of_stage)
    for (double& seconds : of_kind) seconds *= unit;
  pipeline.hop *= unit;
  const auto scaled = solve_exactly(pipeline, unit, one_at_a_time(pipeline), patience);
  if (!in_seconds || !scaled) {
    WARN("skipped: there is no cbc on PATH");
    return;
  }
  CHECK(scaled->proven);
  CHECK(scaled->plan.makespan == Approx(in_seconds->plan.makespan * unit));
}

TEST_CASE("a solver without time returns the start order without a proof", "[exact]") {
  const Pipeline pipeline = uneven(3, 8, 1, 3);
  const Plan start = one_at_a_time(pipeline);
  const auto exact = solve_exactly(pipeline, 1, start, 0);
  if (!exact) {
    WARN("skipped: there is no cbc on PATH");
    return;
  }
  CHECK_FALSE(exact->proven);
  CHECK(exact->plan.makespan <= start.makespan);
}

TEST_CASE("there is no exact solution without the solver", "[exact]") {
  const Pipeline pipeline = uneven(2, 2, 0, 4);
  const char* const before = std::getenv("PATH");
  const std::string path = before == nullptr ? "" : before;
  setenv("PATH", "/nowhere", 1);
  const auto exact = solve_exactly(pipeline, 1, one_at_a_time(pipeline), patience);
  setenv("PATH", path.c_str(), 1);
  CHECK_FALSE(exact);
}

TEST_CASE("an exact model needs whole cells", "[exact]") {
  Pipeline pipeline = uneven(2, 2, 0, 2);
  CHECK_NOTHROW(ExactModel(pipeline, 0.5));
  CHECK_THROWS_AS(ExactModel(pipeline, 0.4), Error);
  CHECK_THROWS_AS(ExactModel(pipeline, 0), Error);
  pipeline.hop = 0.3;
  CHECK_THROWS_WITH(ExactModel(pipeline, 1),
                    Catch::Contains("a hop") && Catch::Contains("no multiple of 1 s"));
  pipeline.hop = 0;
  pipeline.times.of_stage[static_cast<std::size_t>(PassKind::weight_grad)][1] = 0;
  CHECK_THROWS_WITH(ExactModel(pipeline, 1), Catch::Contains("W of stage 1 takes no time"));
}

TEST_CASE("a solution file is converted to an order", "[exact]") {
  // In this solution for one device, n0, n1 and n2 count started passes F, I and W by cell. F takes
  // two cells. The file has no n0_4, n1_6 and n2_7: by then all passes must have started.
  const Pipeline pipeline = uneven(1, 2, 0, 2);
  std::istringstream solution(
      "Optimal - objective value 0.00000000\n"
      "      1 n0_0                    1                       0\n"
      "      2 n0_1                    1                       0\n"
      "      3 n0_2                    2                       0\n"
      "      4 n0_3                    2                       0\n"
      "      7 n1_4                    1                       0\n"
      "      8 n1_5                    1                       0\n"
      "     11 n2_5                    1                       0\n"
      "     12 n2_6                    1                       0\n");
  const Order order = ExactModel(pipeline, 1).read(solution, 8);
  using enum PassKind;
  const std::vector<Pass> expected{{forward, 0, 0},     {forward, 0, 1},    {input_grad, 0, 0},
                                   {weight_grad, 0, 0}, {input_grad, 0, 1}, {weight_grad, 0, 1}};
  CHECK(order == Order{expected});
}
