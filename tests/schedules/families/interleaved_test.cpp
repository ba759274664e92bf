#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using tests::timed;
using tests::uniform_times;

namespace {

schedules::Schedule make(std::uint32_t p, std::uint32_t m, std::uint32_t chunks,
                         std::optional<std::uint32_t> group = {}) {
  return schedules::make_schedule(
      "interleaved-1f1b", {.devices = p, .microbatches = m, .chunks = chunks, .group_size = group});
}

}  // namespace

TEST_CASE("interleaving divides the bubble by the number of chunks", "[interleaved]") {
  for (std::uint32_t p = 1; p <= 8; ++p) {
    for (std::uint32_t v = 1; v <= 4; ++v) {
      for (std::uint32_t m = p; m <= 4 * p + 1; ++m) {
        const auto schedule = make(p, m, v);
        CAPTURE(p, v, m);
        CHECK(timed(schedule, uniform_times(schedule, 1, 1, 1)).idle ==
              Approx((p - 1) * 3.0 / v).margin(1e-12));
      }
    }
  }
}

TEST_CASE("interleaving holds ((v-1)g + 2(p-1-r) + 1)/v microbatches", "[interleaved]") {
  for (std::uint32_t p = 2; p <= 8; ++p) {
    for (std::uint32_t v = 1; v <= 4; ++v) {
      for (std::uint32_t group : {p, p + 3}) {
        const auto peaks = schedules::peak_in_flight(make(p, 4 * group, v, group));
        for (std::uint32_t r = 0; r < p; ++r)
          CHECK(peaks[r] == Approx(((v - 1) * group + 2 * (p - 1 - r) + 1.0) / v));
      }
    }
  }
}

TEST_CASE("interleaving meets its reference vectors", "[interleaved]") {
  const auto idle = [](std::uint32_t p, std::uint32_t m, std::uint32_t v) {
    const auto schedule = make(p, m, v);
    return timed(schedule, uniform_times(schedule, 1, 1, 1)).idle;
  };
  CHECK(idle(4, 16, 2) == 4.5);
  CHECK(idle(8, 32, 2) == 10.5);
  CHECK(idle(4, 16, 4) == 2.25);
  CHECK(idle(8, 32, 4) == 5.25);
  CHECK(schedules::peak_in_flight(make(4, 16, 2))[0] == 5.5);
  CHECK(schedules::peak_in_flight(make(8, 32, 2))[0] == 11.5);
  CHECK(schedules::peak_in_flight(make(4, 16, 4))[0] == 4.75);
  CHECK(schedules::peak_in_flight(make(8, 32, 4))[0] == 9.75);
}

TEST_CASE("latency costs interleaving little while its warm-up hides it", "[interleaved]") {
  const auto schedule = make(8, 32, 2);
  CHECK(timed(schedule, uniform_times(schedule, 1, 1, 1), 0.1).idle == Approx(13.5).margin(0.05));
}

TEST_CASE("the default group works for every size, even with fewer microbatches than devices",
          "[interleaved]") {
  for (std::uint32_t p = 1; p <= 8; ++p)
    for (std::uint32_t v = 1; v <= 4; ++v)
      for (std::uint32_t m = 1; m <= 20; ++m) {
        const auto schedule = make(p, m, v);
        CHECK_NOTHROW(timed(schedule, uniform_times(schedule, 1, 1, 1)));
      }
}

TEST_CASE("a group that would stall is rejected with one that works", "[interleaved]") {
  CHECK_THROWS_WITH(make(4, 16, 2, 3), Catch::Contains("smaller than the pipeline deadlocks") &&
                                           Catch::Contains("group size 4 works"));
  CHECK_THROWS_WITH(make(4, 9, 2, 4),
                    Catch::Contains("last group is smaller") && Catch::Contains("group size 5"));
  CHECK_THROWS_WITH(make(4, 8, 2, 9), Catch::Contains("larger than the iteration"));
  CHECK_NOTHROW(make(4, 9, 2, 5));
}

TEST_CASE("the low-memory warm-up has the same bubble and holds p microbatches in whole groups",
          "[interleaved]") {
  for (std::uint32_t p = 1; p <= 8; ++p)
    for (std::uint32_t v = 1; v <= 4; ++v)
      for (std::uint32_t m = p; m <= 4 * p + 1; ++m) {
        const auto schedule = schedules::make_schedule(
            "interleaved-low-memory", {.devices = p, .microbatches = m, .chunks = v});
        CAPTURE(p, v, m);
        CHECK(timed(schedule, uniform_times(schedule, 1, 1, 1)).idle ==
              Approx((p - 1) * 3.0 / v).margin(1e-9));
        if (m % p != 0) continue;  // The groups are larger in this case.
        const auto peaks = schedules::peak_in_flight(schedule);
        for (std::uint32_t r = 0; r < p; ++r)
          CHECK(peaks[r] == Approx(((v - 1) * p + p - r) / static_cast<double>(v)));
      }
}

TEST_CASE("the low-memory warm-up hides no latency", "[interleaved]") {
  const auto schedule =
      schedules::make_schedule("interleaved-low-memory", {.devices = 8, .microbatches = 32});
  CHECK(timed(schedule, uniform_times(schedule, 1, 1, 1), 0.1).idle == Approx(23.1).margin(0.05));
}

TEST_CASE("every grouped schedule rejects a group that would stall", "[interleaved]") {
  for (const char* name : {"interleaved-1f1b", "interleaved-low-memory", "interleaved-zb"}) {
    const auto with_group = [&](std::uint32_t group) {
      return schedules::make_schedule(
          name, {.devices = 4, .microbatches = 9, .chunks = 2, .group_size = group});
    };
    CHECK_THROWS_WITH(with_group(4), Catch::StartsWith(name) && Catch::EndsWith("size 5 works"));
    CHECK_NOTHROW(with_group(5));
  }
}
