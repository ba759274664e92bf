#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using schedules::Pass;
using schedules::PassKind;

namespace {

double makespan(std::uint32_t devices, std::uint32_t microbatches, double forward,
                double backward) {
  const auto schedule =
      make_schedule("chimera", {.devices = devices, .microbatches = microbatches});
  return tests::timed(schedule, tests::uniform_times(schedule, forward, backward / 2, backward / 2))
      .makespan;
}

}  // namespace

TEST_CASE("Chimera takes 2m + p - 2 if F and B are equally long", "[chimera]") {
  for (std::uint32_t p = 2; p <= 12; p += 2)
    for (std::uint32_t m = p; m <= 6 * p; m += p) {
      CAPTURE(p, m);
      CHECK(makespan(p, m, 1, 1) == Approx(2 * m + p - 2));
    }
}

TEST_CASE("Chimera meets its reference vectors for B = 2 F", "[chimera]") {
  CHECK(makespan(4, 4, 1, 2) == Approx(16));
  CHECK(makespan(4, 8, 1, 2) == Approx(30));
  CHECK(makespan(8, 8, 1, 2) == Approx(36));
  CHECK(makespan(8, 32, 1, 2) == Approx(126));
}

TEST_CASE("Chimera holds two weight copies and p/2 + 1 to p microbatches", "[chimera]") {
  for (std::uint32_t p = 2; p <= 12; p += 2)
    for (const std::uint32_t m : {p, 5 * p}) {
      const auto schedule = make_schedule("chimera", {.devices = p, .microbatches = m});
      CHECK(schedule.chunks == 2);
      CHECK(schedule.routes == schedules::Routes::both_ways(p));
      const auto peaks = schedules::peak_in_flight(schedule);
      for (std::uint32_t r = 0; r < p; ++r) {
        CAPTURE(p, m, r);
        CHECK(peaks[r] == p / 2 + 1 + std::min(r, p - 1 - r));
      }
    }
}

TEST_CASE("Chimera's first device runs both ways in the order of the paper", "[chimera]") {
  const auto passes =
      schedules::passes_of(make_schedule("chimera", {.devices = 4, .microbatches = 4}).programs[0]);
  CHECK(passes == std::vector<Pass>{{PassKind::forward, 0, 0},
                                    {PassKind::forward, 0, 2},
                                    {PassKind::forward, 3, 1},
                                    {PassKind::backward, 3, 1},
                                    {PassKind::forward, 3, 3},
                                    {PassKind::backward, 3, 3},
                                    {PassKind::backward, 0, 0},
                                    {PassKind::backward, 0, 2}});
}

TEST_CASE("unsupported sizes of Chimera are rejected with sizes that work", "[chimera]") {
  CHECK_THROWS_WITH(make_schedule("chimera", {.devices = 3, .microbatches = 8}),
                    "chimera: devices must be even, for two directions, not 3; 4 work");
  CHECK_NOTHROW(make_schedule("chimera", {.devices = 4, .microbatches = 8}));
  CHECK_THROWS_WITH(make_schedule("chimera", {.devices = 4, .microbatches = 11}),
                    "chimera: microbatches must be a multiple of the 4 devices, not 11; 8 work");
  CHECK_THROWS_WITH(make_schedule("chimera", {.devices = 4, .microbatches = 2}),
                    "chimera: microbatches must be a multiple of the 4 devices, not 2; 4 work");
}

TEST_CASE("PyTorch's CSV cannot express Chimera", "[chimera]") {
  CHECK_THROWS_WITH(
      schedules::to_torch_csv(make_schedule("chimera", {.devices = 4, .microbatches = 4})),
      "chimera: PyTorch's CSV cannot put a stage on two ranks");
}
