#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;

namespace {

schedules::Schedule make(std::uint32_t p, std::uint32_t m, std::uint32_t slices) {
  return schedules::make_schedule("seq1f1b", {.devices = p, .microbatches = m, .slices = slices});
}

schedules::Schedule interleaved(schedules::Parameters parameters) {
  return schedules::make_schedule("interleaved-seq1f1b", parameters);
}

std::vector<schedules::Pass> passes_on(const schedules::Schedule& schedule, std::uint32_t device) {
  return schedules::passes_of(schedule.programs[device]);
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

TEST_CASE("interleaved Seq1F1B divides the bubble by chunks and slices", "[seq1f1b]") {
  for (const std::uint32_t p : {2U, 3U, 4U, 8U})
    for (const std::uint32_t q : {1U, 2U, 4U, 8U})
      for (const std::uint32_t v : {2U, 3U})
        for (const std::uint32_t rounds : {2U, 3U}) {
          const std::uint32_t group = (p + q - 1) / q;
          const std::uint32_t m = rounds * group;
          CAPTURE(p, q, v, m);
          const auto schedule =
              interleaved({.devices = p, .microbatches = m, .chunks = v, .slices = q});
          const double share = 1.0 / (v * q);
          CHECK(tests::timed(schedule, tests::uniform_times(schedule, 1.5, 1, 0.75)).idle ==
                Approx((p - 1) * 3.25 * share).margin(1e-9));
          const auto peaks = schedules::peak_in_flight(schedule);
          for (std::uint32_t r = 0; r < p; ++r)
            CHECK(peaks[r] ==
                  Approx(std::min((v - 1) * group * q + 2 * (p - 1 - r) + q, m * q * v) * share));
        }
}

TEST_CASE("interleaved Seq1F1B with one slice is interleaved 1F1B", "[seq1f1b]") {
  for (const std::uint32_t group : {4U, 6U}) {
    schedules::Parameters parameters{
        .devices = 4, .microbatches = 12, .chunks = 3, .group_size = group, .slices = 1};
    const auto sliced = interleaved(parameters);
    parameters.slices.reset();
    const auto whole = schedules::make_schedule("interleaved-1f1b", parameters);
    for (std::uint32_t r = 0; r < 4; ++r) CHECK(passes_on(sliced, r) == passes_on(whole, r));
  }
}

// The order of schedules.py of MayDomine/Seq1F1B for 2 devices, 2 chunks, 2 microbatches in 2
// slices: device 1 runs (v-1)p + q - 1 = 3 forwards before the first pair.
TEST_CASE("interleaved Seq1F1B alternates groups of slices between chunks", "[seq1f1b]") {
  using enum schedules::PassKind;
  const auto schedule = interleaved({.devices = 2, .microbatches = 2, .chunks = 2, .slices = 2});
  CHECK(passes_on(schedule, 1) == std::vector<schedules::Pass>{{forward, 1, 0},
                                                               {forward, 1, 1},
                                                               {forward, 3, 0},
                                                               {forward, 3, 1},
                                                               {backward, 3, 1},
                                                               {forward, 1, 2},
                                                               {backward, 3, 0},
                                                               {forward, 1, 3},
                                                               {backward, 1, 1},
                                                               {forward, 3, 2},
                                                               {backward, 1, 0},
                                                               {forward, 3, 3},
                                                               {backward, 3, 3},
                                                               {backward, 3, 2},
                                                               {backward, 1, 3},
                                                               {backward, 1, 2}});
}

TEST_CASE("a group of interleaved Seq1F1B fills the devices with slices", "[seq1f1b]") {
  CHECK_THROWS_WITH(
      interleaved({.devices = 8, .microbatches = 8, .chunks = 2, .group_size = 1, .slices = 4}),
      Catch::Contains("a group smaller than the pipeline deadlocks") &&
          Catch::Contains("group size 2 works"));
}
