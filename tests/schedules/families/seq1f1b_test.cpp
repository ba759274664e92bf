#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;

namespace {

schedules::Schedule make(std::uint32_t p, std::uint32_t m, std::uint32_t slices) {
  return schedules::make_schedule("seq1f1b", {.devices = p, .microbatches = m, .slices = slices});
}

}  // namespace

TEST_CASE("Seq1F1B divides bubble and memory by the number of slices", "[seq1f1b]") {
  for (std::uint32_t p = 1; p <= 7; ++p)
    for (std::uint32_t q = 1; q <= 4; ++q)
      for (std::uint32_t m = p; m <= 3 * p; ++m) {
        const auto schedule = make(p, m, q);
        CAPTURE(p, q, m);
        CHECK(tests::timed(schedule, tests::uniform_times(schedule, 1.5, 1, 0.75)).idle ==
              Approx((p - 1) * 3.25 / q).margin(1e-9));
        const auto peaks = schedules::peak_in_flight(schedule);
        for (std::uint32_t r = 0; r < p; ++r)
          CHECK(peaks[r] == Approx(std::min(p - 1 - r + q, m * q) / static_cast<double>(q)));
      }
}

TEST_CASE("the gradient of a later slice comes before that of an earlier one", "[seq1f1b]") {
  std::vector<schedules::Pass> passes;
  const auto schedule = make(2, 2, 2);
  for (schedules::PassCursor at(schedule.programs[1]); !at.done(); at.next())
    passes.push_back(at.pass());
  using enum schedules::PassKind;
  CHECK(passes == std::vector<schedules::Pass>{{forward, 1, 0},
                                               {forward, 1, 1},
                                               {backward, 1, 1},
                                               {forward, 1, 2},
                                               {backward, 1, 0},
                                               {forward, 1, 3},
                                               {backward, 1, 3},
                                               {backward, 1, 2}});
}
