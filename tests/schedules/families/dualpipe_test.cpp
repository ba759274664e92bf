#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using tests::timed;

namespace {

// Returns pass times in which a chunk takes the given times of F, I and W, and a fused pair takes
// `fused`.
schedules::PassTimes chunk_times(const schedules::Schedule& schedule, double forward,
                                 double input_grad, double weight_grad, double fused) {
  const double chunks = 1 / schedule.share();
  auto times =
      tests::uniform_times(schedule, forward * chunks, input_grad * chunks, weight_grad * chunks);
  times.fused.assign(schedule.stages(), fused);
  return times;
}

}  // namespace

TEST_CASE("DualPipeV takes (2m-p-2) FB + 5p + 4, DualPipe as long on twice the devices",
          "[dualpipe]") {
  for (std::uint32_t p = 1; p <= 7; ++p)
    for (std::uint32_t m = 2 * p; m <= 4 * p + 1; ++m)
      for (const double fused : {4.0, 3.0, 2.5}) {
        const auto half = make_schedule("dualpipe-v", {.devices = p, .microbatches = m});
        const auto whole = make_schedule("dualpipe", {.devices = 2 * p, .microbatches = 2 * m});
        CAPTURE(p, m, fused);
        const double expected = (2.0 * m - p - 2) * fused + 5 * p + 4;
        CHECK(timed(half, chunk_times(half, 1, 1, 1, fused)).makespan == Approx(expected));
        CHECK(timed(whole, chunk_times(whole, 1, 1, 1, fused)).makespan == Approx(expected));
      }
}

TEST_CASE("DualPipe takes as long as DualPipeV of half the size for any pass times", "[dualpipe]") {
  struct Times {
    double forward, input_grad, weight_grad, fused;
  };
  for (const auto& [f, i, w, fb] : {Times{1, 1, 1, 3}, Times{3, 2, 2, 6}, Times{3, 2, 1, 6},
                                    Times{2, 1, 1, 3}, Times{2, 3, 1, 5}, Times{1, 2, 2, 4}})
    for (std::uint32_t p = 1; p <= 6; ++p)
      for (std::uint32_t m : {2 * p, 2 * p + 1, 5 * p}) {
        const auto half = make_schedule("dualpipe-v", {.devices = p, .microbatches = m});
        const auto whole = make_schedule("dualpipe", {.devices = 2 * p, .microbatches = 2 * m});
        CAPTURE(p, m, f, i, w, fb);
        const double makespan = timed(half, chunk_times(half, f, i, w, fb)).makespan;
        CHECK(timed(whole, chunk_times(whole, f, i, w, fb)).makespan == Approx(makespan));
        if (i > f) continue;  // The cool-down waits for gradients in this case.
        CHECK(makespan ==
              Approx(3 * p * f + (2.0 * m - p - 2) * fb + (2 * p - 1) * i + w + 2 * (i + w)));
      }
}

TEST_CASE("DualPipe meets its reference vectors", "[dualpipe]") {
  const auto makespan = [](double fused) {
    const auto schedule = make_schedule("dualpipe-v", {.devices = 4, .microbatches = 10});
    return timed(schedule, chunk_times(schedule, 1, 1, 1, fused)).makespan;
  };
  CHECK(makespan(3) == 66);
  CHECK(makespan(2.5) == 59);
}

TEST_CASE("the bubble of DualPipe is (PP/2-1)(FB+B-3W) when F = I = W and nothing overlaps",
          "[dualpipe]") {
  for (std::uint32_t p = 1; p <= 6; ++p) {
    const auto schedule = make_schedule("dualpipe-v", {.devices = p, .microbatches = 3 * p});
    const auto result = timed(schedule, chunk_times(schedule, 1, 1, 1, 3));
    CHECK(result.span_bubble == Approx((p - 1) * (3 + 2 - 3)));
  }
}

TEST_CASE("an overlap factor shortens only the fused pairs", "[dualpipe]") {
  const auto schedule = make_schedule("dualpipe-v", {.devices = 4, .microbatches = 10});
  auto times = tests::uniform_times(schedule, 2, 2, 2);
  times.overlap = 2.5 / 3;
  CHECK(timed(schedule, times).makespan == Approx(59));
}

TEST_CASE("DualPipe holds one chunk more than 1F1B on every device", "[dualpipe]") {
  for (std::uint32_t p = 1; p <= 6; ++p) {
    const auto half = make_schedule("dualpipe-v", {.devices = p, .microbatches = 4 * p});
    const auto whole = make_schedule("dualpipe", {.devices = 2 * p, .microbatches = 8 * p});
    CHECK(schedules::peak_in_flight(half) == std::vector<double>(p, p + 0.5));
    CHECK(schedules::peak_in_flight(whole) == std::vector<double>(2 * p, 2 * p + 1));
    CHECK(half.chunks == 2);
    CHECK(whole.chunks == 2);
    CHECK(whole.stages() == 2 * p);
  }
}

TEST_CASE("DualPipe's even microbatches enter at the first device, odd ones at the last",
          "[dualpipe]") {
  const auto schedule = make_schedule("dualpipe", {.devices = 4, .microbatches = 8});
  CHECK(schedule.routes.device(0, 2) == 0);
  CHECK(schedule.routes.device(0, 3) == 3);
  CHECK(schedules::PassCursor(schedule.programs[0]).pass().microbatch == 0);
  CHECK(schedules::PassCursor(schedule.programs[3]).pass().microbatch == 1);
}

TEST_CASE("unsupported sizes of DualPipe are rejected with similar sizes that work", "[dualpipe]") {
  CHECK_THROWS_WITH(
      make_schedule("dualpipe", {.devices = 3, .microbatches = 7}),
      Catch::Contains("not 3 and 7") &&
          Catch::Contains("2 devices with 6 microbatches or 2 devices with 8 microbatches or 4 "
                          "devices with 8 microbatches work"));
  CHECK_NOTHROW(make_schedule("dualpipe", {.devices = 2, .microbatches = 6}));
  CHECK_NOTHROW(make_schedule("dualpipe", {.devices = 2, .microbatches = 8}));
  CHECK_NOTHROW(make_schedule("dualpipe", {.devices = 4, .microbatches = 8}));
  CHECK_THROWS_WITH(make_schedule("dualpipe", {.devices = 4, .microbatches = 6}),
                    Catch::Contains("; 4 devices with 8 microbatches work"));
  CHECK_THROWS_WITH(make_schedule("dualpipe", {.devices = 1, .microbatches = 1}),
                    Catch::Contains("; 2 devices with 4 microbatches work"));
  CHECK_NOTHROW(make_schedule("dualpipe", {.devices = 2, .microbatches = 4}));
  CHECK_THROWS_WITH(make_schedule("dualpipe-v", {.devices = 4, .microbatches = 7}),
                    "dualpipe-v: 4 devices need at least 8 microbatches, not 7");
  CHECK_NOTHROW(make_schedule("dualpipe-v", {.devices = 4, .microbatches = 8}));
}
