#include <algorithm>
#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/families/families.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::greedy_zero_bubble;
using schedules::make_schedule;
using schedules::PassKind;

namespace {

schedules::Parameters planned_with(std::uint32_t p, std::uint32_t m, double forward,
                                   double input_grad, double weight_grad, double hop = 0) {
  schedules::Parameters parameters{.devices = p, .microbatches = m};
  const auto set = [&](PassKind kind, double time) {
    parameters.device_times.of_stage[static_cast<int>(kind)].assign(p, time);
  };
  set(PassKind::forward, forward);
  set(PassKind::input_grad, input_grad);
  set(PassKind::weight_grad, weight_grad);
  parameters.hop = hop;
  return parameters;
}

// Draws uneven times: small integers with ties and zeros, or any magnitude.
schedules::Parameters uneven(std::mt19937& random) {
  const auto whole = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  const auto part = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  const bool any_magnitude = whole(0, 2) == 0;
  const auto time = [&] {
    return any_magnitude && whole(0, 3) > 0 ? std::pow(10.0, 8 * part() - 4) : whole(0, 4);
  };
  schedules::Parameters parameters{.devices = whole(1, 8), .microbatches = whole(1, 24)};
  parameters.iterations = whole(1, 2);
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad})
    for (std::uint32_t device = 0; device < parameters.devices; ++device)
      parameters.device_times.of_stage[static_cast<int>(kind)].push_back(time());
  parameters.hop = whole(0, 2) == 0 ? 0 : time();
  parameters.input_grad_releases = std::clamp(1.5 * part() - 0.25, 0.0, 1.0);
  return parameters;
}

// Returns the peak memory of the fullest device, in activations of a pass, if I already frees the
// fraction `part` of what F stored.
double peak_with_release(const schedules::Schedule& schedule, double part) {
  double peak = 0;
  for (const auto& program : schedule.programs) {
    double held = 0;
    for (schedules::PassCursor at(program); !at.done(); at.next()) {
      if (at.pass().kind == PassKind::forward) held += 1;
      if (at.pass().kind == PassKind::input_grad) held -= part;
      if (at.pass().kind == PassKind::weight_grad) held -= 1 - part;
      peak = std::max(peak, held);
    }
  }
  return peak;
}

}  // namespace

TEST_CASE("the greedy plan at 1F1B's memory idles as little as ZB-H1", "[greedy]") {
  for (std::uint32_t p = 1; p <= 8; ++p)
    for (std::uint32_t m : {2 * p, 3 * p + 1, 4 * p}) {
      const auto schedule = make_schedule("zb-1p", {.devices = p, .microbatches = m});
      const auto result = tests::timed(schedule, tests::uniform_times(schedule, 1, 1, 1));
      CAPTURE(p, m);
      CHECK(result.span_bubble <= p - 1 + 1e-9);
      for (const double peak : schedules::peak_in_flight(schedule)) CHECK(peak <= p);
    }
}

TEST_CASE("memory for 2p-1 microbatches suffices for no bubble", "[greedy]") {
  for (std::uint32_t p : {4U, 5U, 6U, 8U}) {
    const auto schedule =
        greedy_zero_bubble("mine", {.devices = p, .microbatches = 4 * p}, 2 * p - 1);
    const auto result = tests::timed(schedule, tests::uniform_times(schedule, 1, 1, 1));
    CHECK(result.span_bubble == Approx(0).margin(1e-9));
    CHECK(result.idle == Approx(p - 1));
  }
}

TEST_CASE("a greedy plan is complete and stays within any memory limit", "[greedy]") {
  for (std::uint32_t p = 1; p <= 6; ++p)
    for (std::uint32_t m : {1U, 2U, 5U, 12U, 31U})
      for (std::uint32_t limit = 1; limit <= 2 * p + 1; ++limit)
        for (const double part : {0.0, 0.5, 0.57, 1.0}) {
          auto parameters = planned_with(p, m, 1, 1.3, 0.6, 0.1);
          parameters.input_grad_releases = part;
          const auto schedule = greedy_zero_bubble("mine", parameters, limit);
          CAPTURE(p, m, limit, part);
          CHECK_NOTHROW(schedules::check_complete(schedule));
          CHECK(peak_with_release(schedule, part) <= limit + 1e-9);
          CHECK_NOTHROW(tests::timed(schedule, tests::uniform_times(schedule, 1, 1, 1), 0.1,
                                     schedules::P2p::blocking));
        }
}

TEST_CASE("devices with any times have a complete plan within memory", "[greedy]") {
  std::mt19937 random(8);
  for (int i = 0; i < 3000; ++i) {
    const auto parameters = uneven(random);
    const std::uint32_t p = parameters.devices;
    const std::uint32_t limit = std::uniform_int_distribution<std::uint32_t>(1, 2 * p + 1)(random);
    const auto schedule = greedy_zero_bubble("mine", parameters, limit);
    const auto& of_stage = parameters.device_times.of_stage;
    CAPTURE(i, p, parameters.microbatches, limit, parameters.hop, parameters.input_grad_releases,
            of_stage[0], of_stage[1], of_stage[2]);
    REQUIRE_NOTHROW(schedules::check_complete(schedule));
    REQUIRE(peak_with_release(schedule, parameters.input_grad_releases) <= limit + 1e-9);
    for (const auto mode :
         {schedules::P2p::eager, schedules::P2p::rendezvous, schedules::P2p::blocking})
      REQUIRE_NOTHROW(tests::timed(schedule, parameters.device_times, parameters.hop, mode));
  }
}

TEST_CASE("a fast device runs no more forwards than the slow device before it sends", "[greedy]") {
  auto parameters = planned_with(3, 3, 0, 0, 0);
  parameters.device_times.of_stage = {{{4, 1, 3}, {2, 2, 1}, {1, 3, 4}}};
  const auto schedule = make_schedule("zb-1p", parameters);
  CHECK_NOTHROW(schedules::check_complete(schedule));
  std::vector<int> ahead;  // forwards before the first gradient
  for (const auto& program : schedule.programs) {
    ahead.push_back(0);
    for (schedules::PassCursor at(program); at.pass().kind == PassKind::forward; at.next())
      ++ahead.back();
  }
  CHECK(std::is_sorted(ahead.rbegin(), ahead.rend()));
}

TEST_CASE("more memory lengthens the plan by little at most and eventually shortens it",
          "[greedy]") {
  const auto span_bubble = [](std::uint32_t limit) {
    const auto schedule = greedy_zero_bubble("mine", planned_with(8, 32, 10, 12, 8, 1), limit);
    return tests::timed(schedule, tests::uniform_times(schedule, 10, 12, 8), 1).span_bubble;
  };
  CHECK(span_bubble(16) < span_bubble(8));
  CHECK(span_bubble(24) < span_bubble(16));
}

TEST_CASE("memory freed by I is used only if that shortens the plan", "[greedy]") {
  auto equal = planned_with(8, 32, 1, 1, 1);
  equal.input_grad_releases = 0.5;
  for (const double peak : schedules::peak_in_flight(greedy_zero_bubble("mine", equal, 16)))
    CHECK(peak <= 16);

  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    auto parameters = uneven(random);
    parameters.iterations = 1;
    const std::uint32_t limit = std::max(1U, parameters.devices * (1 + i % 2));
    const auto with = [&](double part) {
      parameters.input_grad_releases = part;
      const auto schedule = greedy_zero_bubble("mine", parameters, limit);
      return tests::timed(schedule, parameters.device_times, parameters.hop);
    };
    const auto without = with(0);
    CAPTURE(i, parameters.devices, parameters.microbatches, limit);
    for (const double part : {0.5, 0.9}) {
      const auto more = with(part);
      CHECK((more.span <= without.span * (1 + 1e-9) ||
             more.makespan <= without.makespan * (1 + 1e-9)));
    }
  }
}

TEST_CASE("the plan accounts for a slow device", "[greedy]") {
  auto parameters = planned_with(4, 24, 1, 1, 1);
  for (auto& times : parameters.device_times.of_stage)
    if (!times.empty()) times[2] = 1.5;
  const auto schedule = greedy_zero_bubble("mine", parameters, 8);
  auto times = tests::uniform_times(schedule, 1, 1, 1);
  for (auto& of_stage : times.of_stage)
    if (!of_stage.empty()) of_stage[2] *= 1.5;
  const auto blind = make_schedule("zb-2p", {.devices = 4, .microbatches = 24});
  CHECK(tests::timed(schedule, times).makespan <= tests::timed(blind, times).makespan);
}

TEST_CASE("unsupported sizes of the greedy plan are rejected", "[greedy]") {
  CHECK_THROWS_WITH(greedy_zero_bubble("mine", {.devices = 2, .microbatches = 4}, 0),
                    "mine: a device must hold at least 1 microbatch");
  CHECK_THROWS_WITH(make_schedule("zb-1p", {.devices = 64, .microbatches = 1U << 21U}),
                    Catch::Contains("64 devices x 2097152 microbatches are more than"));
}
