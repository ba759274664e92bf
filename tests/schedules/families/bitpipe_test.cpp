#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;

namespace {

// Returns the bubble of a schedule whose chunks take these times of F and B.
double bubble(std::uint32_t devices, std::uint32_t microbatches, double forward, double backward) {
  const auto schedule =
      make_schedule("bitpipe", {.devices = devices, .microbatches = microbatches});
  const double chunks = 1 / schedule.share();
  return tests::timed(schedule, tests::uniform_times(schedule, chunks * forward,
                                                     chunks * backward / 2, chunks * backward / 2))
      .idle;
}

// Returns the microbatches of the passes of one kind on a device of one direction's two stages.
std::vector<std::uint32_t> forwards_of(const schedules::Schedule& schedule, std::uint32_t device) {
  std::vector<std::uint32_t> microbatches;
  for (const schedules::Pass& pass : schedules::passes_of(schedule.programs[device]))
    if (pass.kind == schedules::PassKind::forward) microbatches.push_back(pass.microbatch);
  return microbatches;
}

}  // namespace

TEST_CASE("the bubble of BitPipe is p-2 passes of a chunk for F = B", "[bitpipe]") {
  for (std::uint32_t p = 2; p <= 12; p += 2)
    for (std::uint32_t m = p; m <= 5 * p; m += p) {
      CAPTURE(p, m);
      CHECK(bubble(p, m, 1, 1) == Approx(p - 2).margin(1e-9));
    }
}

TEST_CASE("BitPipe idles half as long as Chimera for a single unit with B = 2 F", "[bitpipe]") {
  for (std::uint32_t p = 2; p <= 12; p += 2) {
    CAPTURE(p);
    const double idle = bubble(p, p, 1, 2);
    // The bubble ratio is (p-2) / (3p + p-2) of the time, and Chimera's (p-2) / (3p/2 + p-2).
    CHECK(idle / (2.0 * p * 3 + idle) == Approx((p - 2.0) / (3 * p + p - 2.0)).margin(1e-9));
    const auto chimera = make_schedule("chimera", {.devices = p, .microbatches = p});
    const double chimera_idle = tests::timed(chimera, tests::uniform_times(chimera, 2, 2, 2)).idle;
    CHECK(idle == Approx(chimera_idle / 2).margin(1e-9));
  }
}

TEST_CASE("BitPipe has two weight copies in a V, and holds up to p microbatches", "[bitpipe]") {
  for (std::uint32_t p = 2; p <= 12; p += 2)
    for (const std::uint32_t m : {p, 4 * p}) {
      const auto schedule = make_schedule("bitpipe", {.devices = p, .microbatches = m});
      CHECK(schedule.chunks == 4);
      CHECK(schedule.stages() == 2 * p);
      for (std::uint32_t stage = 0; stage < 2 * p; ++stage) {
        const std::uint32_t device = std::min(stage, 2 * p - 1 - stage);
        CHECK(schedule.routes.device(stage, 0) == device);
        CHECK(schedule.routes.device(stage, 1) == p - 1 - device);
      }
      const auto peaks = schedules::peak_in_flight(schedule);
      for (std::uint32_t r = 0; r < p; ++r) {
        CAPTURE(p, m, r);
        CHECK(peaks[r] == Approx((1.5 * p + 1 + std::min(r, p - 1 - r)) / 2));
      }
    }
}

TEST_CASE("BitPipe runs forwards in the order of its authors' code", "[bitpipe]") {
  const auto schedule = make_schedule("bitpipe", {.devices = 4, .microbatches = 4});
  // Even microbatches enter at device 0, odd ones at device 3.
  CHECK(forwards_of(schedule, 0) == std::vector<std::uint32_t>{0, 2, 1, 1, 3, 3, 0, 2});
  CHECK(forwards_of(schedule, 1) == std::vector<std::uint32_t>{0, 1, 2, 3, 1, 0, 3, 2});
  CHECK(forwards_of(schedule, 2) == std::vector<std::uint32_t>{1, 0, 3, 2, 0, 1, 2, 3});
  CHECK(forwards_of(schedule, 3) == std::vector<std::uint32_t>{1, 3, 0, 0, 2, 2, 1, 3});
}

TEST_CASE("unsupported sizes of BitPipe are rejected with sizes that work", "[bitpipe]") {
  CHECK_THROWS_WITH(make_schedule("bitpipe", {.devices = 3, .microbatches = 8}),
                    "bitpipe: devices must be even, for two directions, not 3; 4 work");
  CHECK_NOTHROW(make_schedule("bitpipe", {.devices = 4, .microbatches = 8}));
  CHECK_THROWS_WITH(make_schedule("bitpipe", {.devices = 4, .microbatches = 11}),
                    "bitpipe: microbatches must be a multiple of the 4 devices, not 11; 8 work");
}

TEST_CASE("PyTorch's CSV cannot express BitPipe", "[bitpipe]") {
  CHECK_THROWS_WITH(
      schedules::to_torch_csv(make_schedule("bitpipe", {.devices = 4, .microbatches = 4})),
      "bitpipe: PyTorch's CSV cannot put a stage on two ranks");
}
