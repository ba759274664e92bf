#include <catch2/catch.hpp>

#include "schedules/catalog.hpp"
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
