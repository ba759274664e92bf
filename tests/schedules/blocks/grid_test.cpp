#include "schedules/blocks/grid.hpp"

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "support/blocks.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using namespace pipewright::schedules;

TEST_CASE("a block repeats every interval, each time for the next microbatch", "[blocks]") {
  const Grid grid = repeat(tests::one_f_one_b_block(3), 4);
  CHECK(grid.microbatches == 4);
  for (std::uint32_t device = 0; device < 3; ++device) {
    CHECK(grid.rows[device].size() == 2 * 4);
    std::int64_t previous = -1;
    for (const Cell& cell : grid.rows[device]) {
      CHECK(cell.start > previous);
      previous = cell.start;
      if (cell.pass.kind == PassKind::forward)
        CHECK(cell.start == device + 3 * std::int64_t{cell.pass.microbatch});
    }
  }
}

TEST_CASE("surplus microbatches of the last block are left out", "[blocks]") {
  BuildingBlock block{.name = "pairs",
                      .devices = 1,
                      .routes = Routes::looped(1, 1),
                      .microbatches = 2,
                      .interval = 6,
                      .passes = {}};
  for (std::uint32_t j = 0; j < 2; ++j) {
    block.passes.push_back({{PassKind::forward, 0, j}, 3 * std::int64_t{j}});
    block.passes.push_back({{PassKind::backward, 0, j}, 3 * std::int64_t{j} + 1});
  }
  for (std::uint32_t m = 1; m <= 5; ++m)
    CHECK_NOTHROW(check_complete(to_schedule(repeat(block, m))));
}

TEST_CASE("an error names colliding passes with device and cells", "[blocks]") {
  BuildingBlock block = tests::one_f_one_b_block(2);
  block.passes[1].cell = 3;  // F of stage 1 on B's second cell
  CHECK_THROWS_WITH(repeat(block, 2),
                    Catch::Contains("device 1") &&
                        Catch::Contains("F of microbatch 0 on stage 1 at cell 3") &&
                        Catch::Contains("collides with") && Catch::Contains("of every 3"));
}

TEST_CASE("squeezing keeps the order and moves every pass as early as possible", "[blocks]") {
  for (std::uint32_t p = 1; p <= 6; ++p) {
    const Grid grid = repeat(tests::one_f_one_b_block(p), 7);
    const Grid squeezed = squeeze(grid);
    const Schedule schedule = to_schedule(squeezed);
    CHECK_NOTHROW(check_complete(schedule));
    for (std::uint32_t device = 0; device < p; ++device)
      for (std::size_t i = 0; i < grid.rows[device].size(); ++i) {
        CHECK(squeezed.rows[device][i].pass == grid.rows[device][i].pass);
        CHECK(squeezed.rows[device][i].start <= grid.rows[device][i].start);
      }
    // The schedule has the same bubble as 1F1B, whose building block it repeats.
    const auto times = times_in_cells(unit_lengths, p);
    CHECK(tests::timed(schedule, times).idle == Approx(3.0 * (p - 1)));
  }
}
