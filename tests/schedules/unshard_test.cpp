#include "schedules/unshard.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"

using namespace pipewright::schedules;

namespace {

Schedule looped(std::uint32_t microbatches = 16, std::uint32_t iterations = 1) {
  return make_schedule(
      "interleaved-1f1b",
      {.devices = 4, .microbatches = microbatches, .iterations = iterations, .chunks = 4});
}

std::ptrdiff_t gathers(const UnshardPlan& plan, std::uint16_t stage) {
  std::ptrdiff_t count = 0;
  for (const UnshardStep& step : plan) count += std::ranges::count(step.unshard, stage);
  return count;
}

// Calls use(schedule) for every schedule of the catalog with several stages per device.
template <class Use>
void for_schedules(const Use& use) {
  int count = 0;
  for (const Entry& entry : catalog())
    for (const std::uint32_t fused : {0U, 1U}) {
      Parameters parameters{.devices = 4, .microbatches = 16};
      if (entry.takes(&Parameters::chunks)) parameters.chunks = 4;
      if (entry.takes(&Parameters::fused)) parameters.fused = fused;
      std::optional<Schedule> schedule;
      try {
        schedule = entry.make(parameters);
      } catch (const Error&) {
        continue;
      }
      if (most_stages(schedule->routes) < 2 || schedule->routes.count() > 1) continue;
      CAPTURE(entry.name, fused);
      use(*schedule);
      ++count;
    }
  CHECK(count > 5);
}

}  // namespace

TEST_CASE("a stage is gathered again if fewer stages are gathered than the device has") {
  // The counts follow from PyTorch's _add_unshard_reshard for interleaved 1F1B on 4 ranks with 4
  // stages each and 16 microbatches.
  const Program last = looped().programs[3];
  const UnshardPlan three = plan_unshards(last, torch_unsharded_stages);
  CHECK(gathers(three, 3) == 3);
  CHECK(gathers(three, 7) == 5);
  CHECK(gathers(three, 11) == 1);
  CHECK(gathers(three, 15) == 4);
  const UnshardPlan two = plan_unshards(last, 2);
  CHECK(gathers(two, 3) == 6);
  CHECK(gathers(two, 15) == 4);
  const UnshardPlan four = plan_unshards(last, 4);
  CHECK(four.front() == UnshardStep{0, {}, {3, 7, 11, 15}});
  for (const int stage : {3, 7, 11, 15})
    CHECK(gathers(four, static_cast<std::uint16_t>(stage)) == 1);
}

TEST_CASE("the stage that is needed last is freed for the next one") {
  const Program last = looped().programs[3];
  const UnshardPlan plan = plan_unshards(last, 3);
  REQUIRE(plan.size() == 14);
  CHECK(plan[0] == UnshardStep{0, {}, {3, 7, 11}});
  CHECK(plan[1] == UnshardStep{4, {3}, {15}});  // after four forward passes on stage 3
  CHECK(plan[2] == UnshardStep{8, {7}, {3}});
  CHECK(plan.back() == UnshardStep{128, {3}, {}});
}

TEST_CASE("every pass finds its stage gathered, and no more stages are gathered than allowed") {
  for_schedules([](const Schedule& schedule) {
    for (const std::uint32_t max_stages : {1U, 2U, 3U})
      for (const Program& program : schedule.programs) {
        const UnshardPlan plan = plan_unshards(program, max_stages);
        UnshardCursor cursor(plan);
        std::set<std::uint16_t> gathered;
        const auto change = [&](const UnshardStep* step) {
          if (step == nullptr) return;
          for (const std::uint16_t stage : step->reshard) CHECK(gathered.erase(stage) == 1);
          for (const std::uint16_t stage : step->unshard) CHECK(gathered.insert(stage).second);
        };
        const std::vector<Pass> passes = passes_of(program);
        for (std::size_t i = 0; i < passes.size(); ++i) {
          if (i == 0 || !passes[i - 1].fused) change(cursor.before_pass());
          CHECK(gathered.contains(passes[i].stage));
          CHECK(gathered.size() <= max_stages + (has_fused_pairs(schedule) ? 1 : 0));
          change(cursor.after_pass());
        }
        CHECK(gathered.empty());
      }
  });
}

TEST_CASE("a lookahead delays gathers, and changes neither their number nor what is freed") {
  for_schedules([](const Schedule& schedule) {
    for (const std::uint32_t resident : {2U, 3U, 4U})
      for (std::uint32_t lookahead = 1; lookahead < resident; ++lookahead)
        for (const Program& program : schedule.programs) {
          const UnshardPlan plan = plan_unshards(program, {resident, lookahead});
          const UnshardPlan full = plan_unshards(program, resident);
          std::set<std::uint16_t> gathered;
          std::vector<std::pair<std::size_t, std::vector<std::uint16_t>>> freed;
          std::vector<std::uint16_t> order;
          std::vector<std::size_t> positions;
          const std::vector<Pass> passes = passes_of(program);
          auto step = plan.begin();
          for (std::size_t i = 0; i <= passes.size(); ++i) {
            if (step != plan.end() && step->position == i) {
              for (const std::uint16_t stage : step->reshard) CHECK(gathered.erase(stage) == 1);
              if (!step->reshard.empty()) freed.emplace_back(i, step->reshard);
              for (const std::uint16_t stage : step->unshard) {
                CHECK(gathered.insert(stage).second);
                order.push_back(stage);
                positions.push_back(i);
              }
              ++step;
            }
            if (i < passes.size()) CHECK(gathered.contains(passes[i].stage));
          }
          CHECK(gathered.empty());
          std::size_t gathers = 0;
          for (const UnshardStep& of_full : full) {
            if (!of_full.reshard.empty()) {
              REQUIRE(!freed.empty());
              CHECK(freed.front() == std::pair(of_full.position, of_full.reshard));
              freed.erase(freed.begin());
            }
            for (const std::uint16_t stage : of_full.unshard) {
              REQUIRE(gathers < order.size());
              CHECK(order[gathers] == stage);
              CHECK(positions[gathers++] >= of_full.position);
            }
          }
          CHECK(freed.empty());
          CHECK(gathers == order.size());
        }
  });
}

TEST_CASE("a rank with a lookahead of two gathers a stage when the one before it begins") {
  // Device 0 of interleaved 1F1B with 4 stages runs 4 forward passes of each stage in turn.
  const UnshardPlan plan = plan_unshards(looped().programs[0], {4, 2});
  REQUIRE(plan.size() == 7);
  CHECK(plan[0] == UnshardStep{0, {}, {0, 4}});
  CHECK(plan[1] == UnshardStep{4, {}, {8}});
  CHECK(plan[2] == UnshardStep{8, {}, {12}});
  // The last backward passes free one stage after the other.
  for (const std::size_t last : {3U, 4U, 5U, 6U}) CHECK(plan[last].unshard.empty());
  CHECK(plan[6] == UnshardStep{128, {0}, {}});
  // PyTorch's documentation of unshard_lookahead has these numbers for 4 ranks and 4 stages.
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U})
    CHECK(automatic_lookahead(rank, 4) == std::array{2U, 3U, 4U, 4U}.at(rank));
}

TEST_CASE("a plan has the actions of PyTorch's schedule files") {
  for_schedules([](const Schedule& schedule) {
    TorchRows rows;
    try {
      rows = torch_passes(schedule);
    } catch (const Error&) {
      return;  // a schedule that PyTorch's files cannot express
    }
    for (std::uint32_t device = 0; device < schedule.devices; ++device) {
      std::vector<TorchAction> actions = add_unshard_reshard(rows[device]);
      std::erase_if(actions, [](const TorchAction& action) { return is_pass(action.op); });
      std::vector<TorchAction> planned;
      for (const UnshardStep& step :
           plan_unshards(schedule.programs[device], torch_unsharded_stages)) {
        for (const std::uint16_t stage : step.reshard) planned.push_back({TorchOp::reshard, stage});
        for (const std::uint16_t stage : step.unshard) planned.push_back({TorchOp::unshard, stage});
      }
      CHECK(actions == planned);
    }
  });
}

TEST_CASE("a plan is that of one iteration, and is followed once in each") {
  const Schedule schedule = looped(8, 3);
  const UnshardPlan plan = plan_unshards(schedule.programs[1], 3);
  CHECK(plan == plan_unshards(looped(8).programs[1], 3));
  UnshardCursor cursor(plan);
  std::vector<const UnshardStep*> steps;
  for (PassCursor at(schedule.programs[1]); !at.done(); at.next())
    for (const UnshardStep* step : {cursor.before_pass(), cursor.after_pass()})
      if (step != nullptr) steps.push_back(step);
  REQUIRE(steps.size() == 3 * plan.size());
  for (std::size_t i = 0; i < steps.size(); ++i) CHECK(*steps[i] == plan[i % plan.size()]);
}

TEST_CASE("the device with the most stages counts") {
  CHECK(most_stages(Routes::looped(4, 3)) == 3);
  CHECK(most_stages(Routes::both_ways(4)) == 2);
  CHECK(most_stages(Routes({{0, 1, 1, 0, 1}})) == 3);
}
