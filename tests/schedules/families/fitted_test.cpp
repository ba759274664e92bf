#include "schedules/families/fitted.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/families/families.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using schedules::PassKind;

namespace {

struct Case {
  std::uint32_t devices, microbatches;
  double forward, input_grad, weight_grad, hop;
};

// Draws uneven times, with a latency of up to a fifth of a pass.
Case random_case(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto devices = std::uniform_int_distribution<std::uint32_t>(2, 16)(random);
  return {
      .devices = devices,
      .microbatches = std::uniform_int_distribution<std::uint32_t>(devices, 4 * devices)(random),
      .forward = 2000,
      .input_grad = between(1000, 5000),
      .weight_grad = between(600, 3000),
      .hop = random() % 3 == 0 ? 0 : between(0, 400)};
}

schedules::Parameters parameters_of(const Case& example) {
  schedules::Parameters parameters{.devices = example.devices,
                                   .microbatches = example.microbatches};
  parameters.device_times[PassKind::forward].assign(example.devices, example.forward);
  parameters.device_times[PassKind::input_grad].assign(example.devices, example.input_grad);
  parameters.device_times[PassKind::weight_grad].assign(example.devices, example.weight_grad);
  parameters.hop = example.hop;
  return parameters;
}

tests::ScheduleDurations timed(const schedules::Schedule& schedule, const Case& example) {
  return tests::timed(
      schedule,
      tests::uniform_times(schedule, example.forward, example.input_grad, example.weight_grad),
      example.hop);
}

double peak(const schedules::Schedule& schedule) {
  return std::ranges::max(schedules::peak_in_flight(schedule));
}

}  // namespace

TEST_CASE(
    "a V schedule that knows the times is never longer than the one that does not, nor holds "
    "more",
    "[fitted]") {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const Case example = random_case(random);
    for (const char* name : {"zb-v", "v-zb", "v-half", "v-min"}) {
      const auto plain =
          make_schedule(name, {.devices = example.devices, .microbatches = example.microbatches});
      const auto fitted = make_schedule(name, parameters_of(example));
      CAPTURE(name, example.devices, example.microbatches, example.input_grad, example.weight_grad,
              example.hop);
      CHECK_NOTHROW(schedules::check_complete(fitted));
      CHECK(peak(fitted) <= (name == std::string("zb-v") ? example.devices : peak(plain)));
      const auto before = timed(plain, example);
      const auto after = timed(fitted, example);
      // zb-v is tried with two start orders, and the one with the shorter span may end later.
      CHECK((after.span <= before.span * (1 + 1e-9) ||
             after.makespan <= before.makespan * (1 + 1e-9)));
      if (name != std::string("zb-v")) CHECK(after.span <= before.span * (1 + 1e-9));
      CHECK(after.span >= example.microbatches *
                              (example.forward + example.input_grad + example.weight_grad) *
                              (1 - 1e-9));
    }
  }
}

TEST_CASE("the published orders do not change for F = I = W without latency", "[fitted]") {
  for (const char* name : {"zb-v", "v-zb", "v-half", "v-min"})
    for (std::uint32_t p = 2; p <= 9; ++p) {
      const Case units{p, 3 * p, 1, 1, 1, 0};
      const auto plain = timed(make_schedule(name, {.devices = p, .microbatches = 3 * p}), units);
      const auto fitted = timed(make_schedule(name, parameters_of(units)), units);
      CAPTURE(name, p);
      CHECK(fitted.span == Approx(plain.span));
      CHECK(fitted.makespan <= plain.makespan + 1e-9);
    }
}

TEST_CASE("fitted orders are complete for few microbatches and any times", "[fitted]") {
  std::mt19937 random(2);
  for (std::uint32_t p = 1; p <= 6; ++p)
    for (std::uint32_t m = 1; m <= 2 * p + 1; ++m)
      for (const double part : {0.0, 0.5}) {
        schedules::Parameters parameters{.devices = p, .microbatches = m};
        parameters.iterations = 1 + m % 2;
        for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad})
          for (std::uint32_t stage = 0; stage < 2 * p; ++stage)
            parameters.device_times[kind].push_back(static_cast<double>(random() % 5));
        parameters.hop = static_cast<double>(random() % 3);
        parameters.input_grad_releases = part;
        for (const char* name : {"zb-v", "v-zb", "v-half", "v-min"}) {
          const auto schedule = make_schedule(name, parameters);
          CAPTURE(name, p, m, part);
          CHECK_NOTHROW(schedules::check_complete(schedule));
          for (const auto mode : {schedules::P2p::eager, schedules::P2p::blocking})
            CHECK_NOTHROW(tests::timed(schedule, parameters.device_times, parameters.hop, mode));
        }
      }
}

TEST_CASE("slower transfers do not shorten the span of a fitted order", "[fitted]") {
  // An order that is fitted to twice or four times the latency may have a shorter span when it runs
  // with the actual one, but rarely, since orders are fitted for several latencies.
  std::mt19937 random(3);
  int better = 0;
  int count = 0;
  for (int i = 0; i < 60; ++i) {
    Case example = random_case(random);
    if (example.hop <= 0) continue;
    for (const char* name : {"v-zb", "v-half", "v-min"}) {
      const auto taken = timed(make_schedule(name, parameters_of(example)), example);
      for (const double factor : {2.0, 4.0}) {
        Case slower = example;
        slower.hop *= factor;
        const auto order = make_schedule(name, parameters_of(slower));
        const auto other = timed(order, example);
        CAPTURE(name, example.devices, example.microbatches, example.hop, factor);
        CHECK(timed(order, slower).span >= taken.span * (1 - 1e-9));
        better += other.span < taken.span * (1 - 1e-9) ? 1 : 0;
        ++count;
      }
    }
  }
  CHECK(count > 100);
  CHECK(better < count / 10);
}

// The implementations of the schedules' authors take 189.25 s for ZB-V and 209.35 s for V-Half.
TEST_CASE("16 devices with F, I, W = 1, 1.1, 0.7 s and a hop of 50 ms", "[fitted]") {
  const Case example{16, 64, 1, 1.1, 0.7, 0.05};
  CHECK(timed(make_schedule("zb-v", parameters_of(example)), example).span <= 189.25);
  CHECK(timed(make_schedule("v-half", parameters_of(example)), example).span <= 209.35);
}
