#include "schedules/text/picture.hpp"

#include <catch2/catch.hpp>

#include "schedules/catalog.hpp"

using namespace pipewright::schedules;

TEST_CASE("a schedule is drawn as the papers draw it", "[picture]") {
  CHECK(draw_text(make_schedule("1f1b", {.devices = 3, .microbatches = 3})) ==
        "1f1b: 3 devices x 3 microbatches; a cell is one F or half a B\n"
        "in flight at the peak: 3, 2, 1 microbatches\n"
        "device 0 | F0 F1 F2 .  .  .  .  B0    .  B1    .  B2\n"
        "device 1 | .  F0 F1 .  .  B0    F2 B1    .  B2    .  .\n"
        "device 2 | .  .  F0 B0    F1 B1    F2 B2    .  .  .  .\n");
}

TEST_CASE("chunks are told apart by letters", "[picture]") {
  CHECK(draw_text(
            make_schedule("interleaved-1f1b", {.devices = 1, .microbatches = 2, .chunks = 2})) ==
        "interleaved-1f1b: 1 device x 2 microbatches, 2 chunks a device; a cell is one F or half "
        "a B\n"
        "in flight at the peak: 1 microbatch\n"
        "device 0 | F0a F0b B0b     F1a B0a     F1b B1b     B1a\n");
}

TEST_CASE("a fused pair is one run of cells", "[picture]") {
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

TEST_CASE("a recomputation takes a forward's cell", "[picture]") {
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
