#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using tests::timed;
using tests::uniform_times;

namespace {

schedules::Schedule make(const char* name, std::uint32_t p, std::uint32_t m,
                         std::uint32_t iterations = 1) {
  return schedules::make_schedule(name,
                                  {.devices = p, .microbatches = m, .iterations = iterations});
}

double steady_time_per_microbatch(const char* name, double hop) {
  // The difference between two lengths in the steady state, each a multiple of its period of 7
  // microbatches.
  const auto shorter = make(name, 4, 700);
  const auto longer = make(name, 4, 1400);
  const auto times = uniform_times(shorter, 1, 1, 1);
  return (timed(longer, times, hop).makespan - timed(shorter, times, hop).makespan) / 700;
}

}  // namespace

TEST_CASE("1F1B and eager 1F1B idle (p-1)(F+B) and differ in memory", "[1f1b]") {
  for (std::uint32_t p = 1; p <= 9; ++p) {
    for (std::uint32_t m = 1; m <= 24; ++m) {
      CAPTURE(p, m);
      const auto plain = make("1f1b", p, m);
      const auto eager = make("eager-1f1b", p, m);
      const auto times = uniform_times(plain, 1.25, 1, 0.5);
      CHECK(timed(plain, times).idle == Approx((p - 1) * 2.75).margin(1e-12));
      CHECK(timed(eager, times).idle == Approx((p - 1) * 2.75).margin(1e-12));
      CHECK(timed(plain, times).span_bubble == Approx((p - 1) * 2.75).margin(1e-12));
      for (std::uint32_t r = 0; r < p; ++r) {
        CHECK(schedules::peak_in_flight(plain)[r] == std::min(p - r, m));
        CHECK(schedules::peak_in_flight(eager)[r] == std::min(2 * (p - r) - 1, m));
      }
    }
  }
}

TEST_CASE("1F1B meets its reference vectors", "[1f1b]") {
  const auto small = make("1f1b", 4, 16);
  const auto large = make("1f1b", 8, 32);
  CHECK(timed(small, uniform_times(small, 1, 1, 1)).idle == 9);
  CHECK(timed(large, uniform_times(large, 1, 1, 1)).idle == 21);
}

TEST_CASE("latency that the warm-up does not hide determines the steady state", "[1f1b]") {
  // With c per hop, a microbatch takes F+B + 2c(p-1)/p in the steady state of 1F1B, and max(F+B,
  // (p(F+B) + 2c(p-1))/(2p-1)) in that of eager 1F1B.
  CHECK(steady_time_per_microbatch("1f1b", 1) == Approx(4.5));
  CHECK(steady_time_per_microbatch("1f1b", 3) == Approx(7.5));
  CHECK(steady_time_per_microbatch("eager-1f1b", 1) == Approx(3));
  CHECK(steady_time_per_microbatch("eager-1f1b", 3) == Approx(30.0 / 7));
}

TEST_CASE("without a flush T iterations take (T m + p - 1)(F+B)", "[2bw]") {
  for (const char* name : {"1f1b-2bw", "eager-2bw"}) {
    for (std::uint32_t p = 1; p <= 6; ++p) {
      for (std::uint32_t iterations = 1; iterations <= 4; ++iterations) {
        const std::uint32_t m = 2 * p;
        const auto schedule = make(name, p, m, iterations);
        CAPTURE(name, p, iterations);
        CHECK(timed(schedule, uniform_times(schedule, 1, 1, 1)).makespan ==
              Approx((iterations * m + p - 1) * 3));
        CHECK(schedule.weight_versions == 2);
      }
    }
  }
}

TEST_CASE("with a flush every iteration pays for its own warm-up", "[1f1b]") {
  const auto schedule = make("1f1b", 4, 8, 3);
  CHECK(timed(schedule, uniform_times(schedule, 1, 1, 1)).makespan == 3 * (8 + 3) * 3);
}

TEST_CASE("two weight versions need iterations as long as the warm-up", "[2bw]") {
  CHECK_NOTHROW(make("1f1b-2bw", 8, 7));
  CHECK_THROWS_WITH(make("1f1b-2bw", 8, 6),
                    "1f1b-2bw: 8 devices need at least 7 microbatches an iteration for two weight "
                    "versions to suffice, not 6");
  CHECK_NOTHROW(make("eager-2bw", 8, 14));
  CHECK_THROWS_AS(make("eager-2bw", 8, 13), schedules::Error);
}

TEST_CASE("interlaced 1F1B idles like 1F1B and holds half a pipeline more", "[1f1b]") {
  for (std::uint32_t p = 1; p <= 9; ++p)
    for (std::uint32_t m = 1; m <= 24; ++m) {
      CAPTURE(p, m);
      const auto schedule = make("interlaced", p, m);
      CHECK(timed(schedule, uniform_times(schedule, 1.25, 1, 0.5)).idle ==
            Approx((p - 1) * 2.75).margin(1e-12));
      for (std::uint32_t r = 0; r < p; ++r)
        CHECK(schedules::peak_in_flight(schedule)[r] == std::min(3 * p / 2 - r, m));
    }
}

// The order of interlaced_schedule.py of sail-sg/VocabularyParallelism for 4 devices: warm-ups of
// 6, 5, 4 and 3 forwards, 1, 1, 2 and 2 backwards, then pairs.
TEST_CASE("every second device of interlaced 1F1B begins its pairs with a backward", "[1f1b]") {
  using enum schedules::PassKind;
  const auto schedule = make("interlaced", 4, 8);
  const auto letters = [&](std::uint32_t device) {
    std::string text;
    for (const schedules::Pass& pass : schedules::passes_of(schedule.programs[device]))
      text += schedules::letter(pass.kind);
    return text;
  };
  CHECK(letters(0) == "FFFFFFBFBFBBBBBB");
  CHECK(letters(1) == "FFFFFBBFBFBFBBBB");
  CHECK(letters(2) == "FFFFBBFBFBFBFBBB");
  CHECK(letters(3) == "FFFBBBFBFBFBFBFB");
}
