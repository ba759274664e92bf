#include "schedules/justify.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/pipelines.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

namespace {

Order order_of(const Schedule& schedule) {
  Order order(schedule.devices);
  for (std::uint32_t device = 0; device < schedule.devices; ++device)
    for (PassCursor at(schedule.programs[device]); !at.done(); at.next())
      order[device].push_back(at.pass());
  return order;
}

Schedule schedule_of(const Schedule& like, const Order& order) {
  Schedule schedule = like;
  for (std::uint32_t device = 0; device < like.devices; ++device) {
    schedule.programs[device] = {};
    schedule.programs[device].repeat(1, 0, order[device]);
  }
  return schedule;
}

}  // namespace

TEST_CASE("the plan of an order has the times of the timing engine", "[justify]") {
  for (const Entry& entry : catalog()) {
    const Schedule schedule = make_schedule(entry.name, {.devices = 4, .microbatches = 12});
    if (schedule.routes.count() > 1 || has_fused_pairs(schedule) || schedule.slices > 1) continue;
    const Pipeline pipe = tests::pipeline(schedule.routes, 4, 12, {1, 1.25, 0.5}, 0.125, 100);
    const Plan plan = Justifier(pipe).plan(order_of(schedule));
    const auto timed = tests::timed(schedule, pipe.times, 0.125);
    CAPTURE(entry.name);
    CHECK(plan.makespan == Approx(timed.makespan));
    CHECK(plan.order == order_of(schedule));
  }
}

TEST_CASE("justified plans are never worse, stay within memory and can run", "[justify]") {
  for (const Entry& entry : catalog()) {
    for (const std::uint32_t p : {2U, 3U, 5U}) {
      const std::uint32_t m = 2 * p + 1;
      std::optional<Schedule> schedule;
      try {
        schedule = make_schedule(entry.name, {.devices = p, .microbatches = m});
      } catch (const Error&) {
        continue;
      }
      if (schedule->routes.count() > 1 || has_fused_pairs(*schedule) || schedule->slices > 1)
        continue;
      const auto in_flight = peak_in_flight(*schedule);
      const double memory = *std::max_element(in_flight.begin(), in_flight.end());
      const Pipeline pipe = tests::pipeline(schedule->routes, p, m, {1, 0.75, 1.5}, 0.25, memory);
      const Justifier justifier(pipe);
      const Plan plan = justifier.plan(order_of(*schedule));
      for (const Pull pull : {Pull::safe, Pull::fitting, Pull::eager})
        for (const Objective objective : {Objective::makespan, Objective::span}) {
          const Plan better_plan = justifier.improve(plan, pull, objective, 3);
          CAPTURE(entry.name, p, static_cast<int>(pull), static_cast<int>(objective));
          CHECK_FALSE(better(plan, better_plan, objective));
          const Schedule result = schedule_of(*schedule, better_plan.order);
          CHECK(tests::timed(result, pipe.times, 0.25).makespan == Approx(better_plan.makespan));
          for (const double held : peak_in_flight(result)) CHECK(held <= memory + 1e-9);
        }
    }
  }
}

TEST_CASE("an order that exceeds memory has no plan", "[justify]") {
  const Schedule schedule = make_schedule("gpipe", {.devices = 3, .microbatches = 6});
  const Pipeline pipe = tests::pipeline(schedule.routes, 3, 6, {1, 1, 1}, 0, 3);
  CHECK(std::isinf(Justifier(pipe).plan(order_of(schedule)).makespan));
}
