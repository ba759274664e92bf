#include "schedules/blocks/reorder.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/blocks/build.hpp"
#include "schedules/blocks/grid.hpp"
#include "schedules/checks.hpp"
#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

namespace {

std::int64_t end_of(const Grid& grid) {
  std::int64_t end = 0;
  for (const auto& row : grid.rows)
    end = std::max(end,
                   row.back().start + grid.lengths[static_cast<std::size_t>(row.back().pass.kind)]);
  return end;
}

template <class Check>
void with_every_block(Check&& check) {
  for (const Entry& entry : catalog()) {
    if (entry.block == nullptr) continue;
    for (std::uint32_t p = 1; p <= 9; ++p) {
      // Blocks in two directions need an even number of devices.
      if (entry.placement({.devices = p}).count() > 1 && p % 2 != 0) continue;
      const BuildingBlock block = entry.block({.devices = p, .microbatches = 1});
      CAPTURE(entry.name, p);
      check(block);
    }
  }
}

}  // namespace

TEST_CASE("sliding and reordering keep all passes and do not increase memory or time", "[blocks]") {
  with_every_block([](const BuildingBlock& block) {
    if (block.routes.count() > 1) return;  // reordering needs a single route
    for (const std::uint32_t m : {1U, 2U, 3U * block.devices + 1}) {
      const Grid squeezed = squeeze(repeat(block, m));
      const auto peaks = allowed_peaks(block, squeezed);
      for (const Grid& result : {squeeze(slide(squeezed, peaks)), reorder(squeezed, peaks)}) {
        CHECK_NOTHROW(check_complete(to_schedule(result)));
        CHECK(end_of(result) <= end_of(squeezed));
        const auto held = peaks_of(result);
        for (std::uint32_t device = 0; device < block.devices; ++device)
          CHECK(held[device] <= peaks[device]);
      }
    }
  });
}

TEST_CASE("the squeezed peak is within the lifespan bound", "[blocks]") {
  with_every_block([](const BuildingBlock& block) {
    if (!block.binding) return;
    const Grid repeated = repeat(block, 4 * block.devices);
    const auto bound = lifespan_bound(block);
    const auto held = peak_in_flight(to_schedule(repeated));
    for (std::uint32_t device = 0; device < block.devices; ++device)
      CHECK(held[device] <= bound[device] + 1e-9);
  });
}

TEST_CASE("a long schedule repeats the steady state of a short one", "[blocks]") {
  with_every_block([](const BuildingBlock& block) {
    const auto idle = [&](std::uint32_t m) {
      const Schedule schedule = build(block, m);
      CHECK_NOTHROW(check_complete(schedule));
      const auto times = times_in_cells(block.lengths, schedule.stages());
      return tests::timed(schedule, times).idle;
    };
    const std::uint32_t group = block.microbatches;
    // Tests numbers of microbatches far beyond those at which the steady state begins, and a
    // million.
    CHECK(idle(100 * group) == Approx(idle(101 * group)));
    CHECK(build(block, 1000000 / group * group).programs[0].loops.size() < 2000);
  });
}
