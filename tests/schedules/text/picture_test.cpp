#include "schedules/text/picture.hpp"

#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "schedules/blocks/grid.hpp"
#include "schedules/families/catalog.hpp"

using namespace pipewright::schedules;

TEST_CASE("a schedule is drawn as in the papers", "[picture]") {
  CHECK(draw_text(make_schedule("1f1b", {.devices = 3, .microbatches = 3})) ==
        "1f1b: 3 devices x 3 microbatches; a cell is one F or half a B\n"
        "in flight at the peak: 3, 2, 1 microbatches\n"
        "device 0 | F0 F1 F2 .  .  .  .  B0    .  B1    .  B2\n"
        "device 1 | .  F0 F1 .  .  B0    F2 B1    .  B2    .  .\n"
        "device 2 | .  .  F0 B0    F1 B1    F2 B2    .  .  .  .\n");
}

TEST_CASE("letters identify chunks", "[picture]") {
  CHECK(draw_text(
            make_schedule("interleaved-1f1b", {.devices = 1, .microbatches = 2, .chunks = 2})) ==
        "interleaved-1f1b: 1 device x 2 microbatches, 2 chunks per device; a cell is one F or half "
        "a B\n"
        "in flight at the peak: 1 microbatch\n"
        "device 0 | F0a F0b B0b     F1a B0a     F1b B1b     B1a\n");
}

TEST_CASE("a fused pair is drawn as adjacent cells", "[picture]") {
  Program program;
  program.repeat(1, 0,
                 {{PassKind::forward, 0, 0},
                  {PassKind::forward, 0, 1, true},
                  {PassKind::backward, 0, 0},
                  {PassKind::backward, 0, 1}});
  const Schedule schedule{.name = "pair",
                          .devices = 1,
                          .microbatches = 2,
                          .routes = Routes::looped(1, 1),
                          .programs = {program}};
  CHECK_THAT(draw_text(schedule), Catch::EndsWith("device 0 | F0 F1+B0    B1\n"));
  CHECK_THAT(draw_text(make_schedule("dualpipe-v", {.devices = 2, .microbatches = 12})),
             Catch::Contains(" F11a+B9b "));
}

TEST_CASE("a recomputation takes as many cells as a forward", "[picture]") {
  Program program;
  program.repeat(
      1, 0, {{PassKind::forward, 0, 0}, {PassKind::recompute, 0, 0}, {PassKind::backward, 0, 0}});
  const Schedule schedule{.name = "again",
                          .devices = 1,
                          .microbatches = 1,
                          .recomputed = {true},
                          .routes = Routes::looped(1, 1),
                          .programs = {program}};
  CHECK_THAT(draw_text(schedule), Catch::EndsWith("device 0 | F0 R0 B0\n"));
}

namespace {

// A building block of 1F1B that splits backward passes into I and W and leaves some cells free.
BuildingBlock loose_block() {
  BuildingBlock block{.name = "loose",
                      .devices = 2,
                      .routes = Routes::looped(2, 1),
                      .microbatches = 1,
                      .interval = 4,
                      .recomputed = {},
                      .passes = {{{PassKind::forward, 0}, 0},
                                 {{PassKind::forward, 1}, 1},
                                 {{PassKind::input_grad, 1}, 2},
                                 {{PassKind::input_grad, 0}, 3}}};
  place_weight_grads(block);
  return block;
}

}  // namespace

TEST_CASE("a block is drawn with its interval and the lifespans of activations", "[picture]") {
  CHECK(draw_text(loose_block()) ==
        "         | 0           4\n"
        "device 0 | F0 .  .  I0 .  W0\n"
        "device 1 | .  F0 I0 W0 .  .\n"
        "lifespans of activations in cells; at most ceil(l/4) activations of lifespan l are held "
        "at a time\n"
        "device 0 | 6: at most 2 microbatches\n"
        "device 1 | 3: at most 1 microbatch\n");
}

TEST_CASE("a grid is drawn with its bubbles and its peak", "[picture]") {
  const Grid repeated = repeat(loose_block(), 2);
  CHECK(draw_text(repeated, 4) ==
        "10 cells, bubble ratio 40.0 %, span bubble 4 cells; in flight at the peak: 2, 1 "
        "microbatches\n"
        "         | 0           4           8\n"
        "device 0 | F0 .  .  I0 F1 W0 .  I1 .  W1\n"
        "device 1 | .  F0 I0 W0 .  F1 I1 W1 .  .\n");
  CHECK(draw_text(squeeze(repeated), 0) ==
        "9 cells, bubble ratio 33.3 %, span bubble 3 cells; in flight at the peak: 2, 1 "
        "microbatches\n"
        "device 0 | F0 .  .  I0 F1 W0 .  I1 W1\n"
        "device 1 | .  F0 I0 W0 .  F1 I1 W1 .\n");
}

TEST_CASE("wide pictures continue below at a number of the ruler", "[picture]") {
  const Grid grid = repeat(loose_block(), 12);
  for (const std::size_t columns : {24U, 40U, 80U, 100U}) {
    std::istringstream lines(draw_text(grid, 4, columns));
    std::string line;
    std::getline(lines, line);  // the figures
    std::string cells;
    while (std::getline(lines, line)) {
      CHECK(line.size() <= columns);
      if (line.starts_with("device 0 | ")) cells += line.substr(11) + " ";
    }
    // The rows together show every pass of device 0 exactly once.
    for (const char kind : {'F', 'I', 'W'}) CHECK(std::ranges::count(cells, kind) == 12);
  }
  // A cell is wide enough for labels with two-digit microbatches.
  CHECK_THAT(draw_text(grid, 4), Catch::Contains("F10 W9  .   I10 F11 W10 .   I11"));
}

TEST_CASE("a picture narrower than a cell still shows one cell per row", "[picture]") {
  CHECK_THAT(draw_text(repeat(loose_block(), 1), 1, 1),
             Catch::StartsWith("6 cells") && Catch::Contains("device 0 | F0\n"));
}
