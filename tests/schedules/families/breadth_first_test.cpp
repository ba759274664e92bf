#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using tests::timed;
using tests::uniform_times;

TEST_CASE("GPipe idles (p-1)(F+B) and holds every microbatch", "[gpipe]") {
  for (std::uint32_t p = 1; p <= 9; ++p) {
    for (std::uint32_t m = 1; m <= 20; ++m) {
      const auto schedule = schedules::make_schedule("gpipe", {.devices = p, .microbatches = m});
      const auto result = timed(schedule, uniform_times(schedule, 1.5, 1, 0.75));
      CAPTURE(p, m);
      CHECK(result.idle == Approx((p - 1) * 3.25).margin(1e-12));
      CHECK(schedules::peak_in_flight(schedule) == std::vector<double>(p, m));
    }
  }
}

TEST_CASE("breadth first idles (p-1)(F+B)/v, more when a chunk waits for the ring",
          "[looped-bfs]") {
  for (std::uint32_t p = 1; p <= 7; ++p)
    for (std::uint32_t v = 1; v <= 4; ++v)
      for (std::uint32_t m = 1; m <= 3 * p; ++m) {
        const auto schedule =
            schedules::make_schedule("looped-bfs", {.devices = p, .microbatches = m, .chunks = v});
        CAPTURE(p, v, m);
        const double chunk = 3.25 / v;
        const double ring = std::max(p, m);  // from a microbatch's chunk to its next, in passes
        const double expected = ((v - 1) * ring + m + p - 1) * chunk - m * 3.25;
        CHECK(tests::timed(schedule, tests::uniform_times(schedule, 1.5, 1, 0.75)).idle ==
              Approx(expected).margin(1e-9));
        for (const double peak : schedules::peak_in_flight(schedule)) CHECK(peak == Approx(m));
      }
}

TEST_CASE("breadth first takes backwards in reverse", "[looped-bfs]") {
  const auto schedule = schedules::make_schedule("looped-bfs", {.devices = 2, .microbatches = 2});
  std::vector<schedules::Pass> passes;
  for (schedules::PassCursor at(schedule.programs[1]); !at.done(); at.next())
    passes.push_back(at.pass());
  using enum schedules::PassKind;
  CHECK(passes == std::vector<schedules::Pass>{{forward, 1, 0},
                                               {forward, 1, 1},
                                               {forward, 3, 0},
                                               {forward, 3, 1},
                                               {backward, 3, 1},
                                               {backward, 3, 0},
                                               {backward, 1, 1},
                                               {backward, 1, 0}});
}
