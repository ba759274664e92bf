#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using tests::timed;
using tests::uniform_times;

namespace {

struct Times {
  double forward, input_grad, weight_grad;
};

constexpr Times unequal[] = {{1, 1, 1},   {1, 2, 1},     {2, 1, 1}, {1, 1, 2}, {10, 12, 8},
                             {3, 4, 2.5}, {1, 1.5, 0.5}, {2, 3, 3}, {1, 3, 3}, {1, 4, 1}};

tests::ScheduleDurations run(const schedules::Schedule& schedule, const Times& times) {
  return timed(schedule,
               uniform_times(schedule, times.forward, times.input_grad, times.weight_grad));
}

std::string text_of(const schedules::Program& program) {
  std::string text;
  for (schedules::PassCursor at(program); !at.done(); at.next())
    text += letter(at.pass().kind) + std::to_string(at.pass().microbatch) + ' ';
  return text;
}

}  // namespace

TEST_CASE("ZB-H1 idles (p-1) max(F, I, F+I-W) at 1F1B's memory", "[zero-bubble]") {
  for (const Times& times : unequal)
    for (std::uint32_t p = 1; p <= 8; ++p)
      for (std::uint32_t m = p; m <= 4 * p; ++m) {
        const auto schedule = make_schedule("zb-h1", {.devices = p, .microbatches = m});
        CAPTURE(p, m, times.forward, times.input_grad, times.weight_grad);
        const double hop = std::max({times.forward, times.input_grad,
                                     times.forward + times.input_grad - times.weight_grad});
        CHECK(run(schedule, times).idle == Approx((p - 1) * hop).margin(1e-9));
        CHECK(schedules::peak_in_flight(schedule) == std::vector<double>(p, p));
      }
}

TEST_CASE("ZB-H2 has no bubble within a span where I <= F and F + I <= 2W", "[zero-bubble]") {
  for (const Times& times : unequal)
    for (std::uint32_t p = 1; p <= 8; ++p)
      for (std::uint32_t m = 2 * p - 1; m <= 4 * p; ++m) {
        const auto schedule = make_schedule("zb-h2", {.devices = p, .microbatches = m});
        CAPTURE(p, m, times.forward, times.input_grad, times.weight_grad);
        const double inside = std::max({0.0, times.input_grad - times.forward,
                                        times.forward + times.input_grad - 2 * times.weight_grad});
        const auto result = run(schedule, times);
        CHECK(result.idle == Approx((p - 1) * std::max(times.forward, inside)).margin(1e-9));
        CHECK(result.span_bubble == Approx((p - 1) * inside).margin(1e-9));
        CHECK(schedules::peak_in_flight(schedule) == std::vector<double>(p, 2 * p - 1));
      }
}

TEST_CASE("ZB-H2 with few microbatches runs but is slower than ZB-H1", "[zero-bubble]") {
  const auto h1 = make_schedule("zb-h1", {.devices = 8, .microbatches = 8});
  const auto h2 = make_schedule("zb-h2", {.devices = 8, .microbatches = 8});
  CHECK(run(h1, {1, 1, 1}).idle == 7);
  CHECK(run(h2, {1, 1, 1}).idle == 10);
}

TEST_CASE("the last device of ZB-H1 lags p-1 weight gradients", "[zero-bubble]") {
  const auto schedule = make_schedule("zb-h1", {.devices = 4, .microbatches = 8});
  CHECK(text_of(schedule.programs[3]) ==
        "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7 ");
}

TEST_CASE("interleaved zero bubble idles (p-1)F/v and holds p", "[zero-bubble]") {
  for (std::uint32_t p = 1; p <= 8; ++p)
    for (std::uint32_t chunks = 1; chunks <= 4; ++chunks)
      for (std::uint32_t m = p; m <= 4 * p + 1; ++m) {
        const auto schedule =
            make_schedule("interleaved-zb", {.devices = p, .microbatches = m, .chunks = chunks});
        CAPTURE(p, chunks, m);
        CHECK(run(schedule, {1, 1, 1}).idle == Approx((p - 1.0) / chunks).margin(1e-9));
        if (m % p != 0) continue;  // The groups are larger in this case.
        for (const double peak : schedules::peak_in_flight(schedule)) CHECK(peak == Approx(p));
      }
}

TEST_CASE("ZB-V idles (p-1)F/2 before it starts, at 1F1B's memory", "[zero-bubble]") {
  for (std::uint32_t p = 1; p <= 9; ++p)
    for (std::uint32_t m = 2 * p - 1; m <= 5 * p; ++m) {
      const auto schedule = make_schedule("zb-v", {.devices = p, .microbatches = m});
      CAPTURE(p, m);
      const auto result = run(schedule, {1, 1, 1});
      CHECK(result.idle == Approx((p - 1) / 2.0).margin(1e-9));
      CHECK(result.span_bubble == Approx(0).margin(1e-9));
      CHECK(schedules::peak_in_flight(schedule) == std::vector<double>(p, p));
    }
}

TEST_CASE("zero-bubble schedules with unequal passes have the published idle times",
          "[zero-bubble]") {
  // Published idle time divided by compute time, for 8 devices and 32 microbatches with F, I and W
  // of 10, 12 and 8.
  const auto over_ideal = [](const char* name) {
    const auto schedule = make_schedule(name, {.devices = 8, .microbatches = 32});
    return run(schedule, {10, 12, 8}).idle / (32 * 30);
  };
  CHECK(over_ideal("1f1b") == Approx(0.219).margin(5e-4));
  CHECK(over_ideal("interleaved-1f1b") == Approx(0.109).margin(5e-4));
  CHECK(over_ideal("zb-h1") == Approx(0.102).margin(5e-4));
  CHECK(over_ideal("zb-h2") == Approx(0.073).margin(5e-4));
  CHECK(over_ideal("zb-v") == Approx(0.044).margin(5e-4));
}

TEST_CASE("latency that the warm-up of ZB-H1 does not hide determines its steady state",
          "[zero-bubble]") {
  // With c per hop, a microbatch takes max(F+B, (p(F+I) + W + 2c(p-1))/p) in the steady state.
  const auto steady = [](double hop) {
    const auto makespan = [&](std::uint32_t m) {
      const auto schedule = make_schedule("zb-h1", {.devices = 4, .microbatches = m});
      return timed(schedule, uniform_times(schedule, 1, 1, 1), hop).makespan;
    };
    return (makespan(1400) - makespan(700)) / 700;
  };
  CHECK(steady(1) == Approx(3.75));
  CHECK(steady(3) == Approx(6.75));
}
