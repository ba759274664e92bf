#include <catch2/catch.hpp>

#include "analysis/report/canvas/plot.hpp"

namespace pipewright::analysis {

TEST_CASE("the time axis has round ticks in a suitable unit") {
  const TimeTicks ms = time_ticks(0.0333, 14);
  CHECK(ms.unit == "ms");
  REQUIRE(ms.ticks.size() == 7);
  CHECK(ms.ticks[1].label == "5");
  CHECK(ms.ticks[1].s == Approx(0.005));
  CHECK(ms.ticks.back().label == "30");

  const TimeTicks s = time_ticks(1.748, 14);
  CHECK(s.unit == "s");
  CHECK(s.ticks[1].label == "0.2");
  CHECK(time_ticks(250e-9, 14).unit == "ns");
}

TEST_CASE("the time axis may have a tick at its end but none beyond") {
  for (const double span : {1.0, 0.3, 2.5e-5, 7.0, 1234.0}) {
    const TimeTicks axis = time_ticks(span, 10);
    CHECK(axis.ticks.size() <= 11);
    CHECK(axis.ticks.size() >= 4);
    CHECK(axis.ticks.back().s <= span * (1 + 1e-8));
  }
  CHECK(time_ticks(1.0, 10).ticks.back().s == Approx(1.0));
}

}  // namespace pipewright::analysis
