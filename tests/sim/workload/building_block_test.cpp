#include "sim/workload/building_block.hpp"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "schedules/blocks/grid.hpp"
#include "schedules/checks.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::PassKind;

namespace {

const std::string v_half =
    "placement: v\ninterval: 6\ncells: {F0: {step: 2}, F1: {step: 1}, I1: {step: 2}, I0: {step: "
    "1}}\n";

config::BuildingBlock read(const std::string& text) {
  return config::read_building_block(config::read_yaml_text(text, "b.yaml"));
}

schedules::BuildingBlock block_of(const std::string& text, std::uint32_t devices) {
  return workload::to_block(read(text), devices);
}

std::string error_of(const std::string& text, std::uint32_t devices = 4) {
  try {
    workload::make_schedule(read(text), devices, 8, 1);
  } catch (const config::Error& error) {
    return error.what();
  }
  return {};
}

std::int64_t cell(const schedules::BuildingBlock& block, PassKind kind, std::uint16_t stage,
                  std::uint32_t microbatch = 0) {
  const auto match = std::ranges::find(block.passes, schedules::Pass{kind, stage, microbatch},
                                       &schedules::BlockPass::pass);
  REQUIRE(match != block.passes.end());
  return match->cell;
}

}  // namespace

TEST_CASE("one file works for any number of devices", "[blocks][plan]") {
  for (std::uint32_t p = 1; p <= 33; ++p) {
    const schedules::BuildingBlock block = block_of(v_half, p);
    schedules::repeat(block, 3);  // no collision
    for (std::uint16_t r = 0; r < p; ++r) {
      CHECK(cell(block, PassKind::forward, r) == 2 * r);
      CHECK(cell(block, PassKind::forward, static_cast<std::uint16_t>(2 * p - 1 - r)) ==
            3 * p - 2 - r);
    }
  }
}

TEST_CASE("the steps of a user's block determine its memory", "[blocks][plan]") {
  for (std::uint32_t p = 3; p <= 16; ++p) {
    const schedules::Schedule half = workload::make_schedule(read(v_half), p, 4 * p, 1);
    schedules::check_complete(half);
    CHECK(std::ranges::max(schedules::peak_in_flight(half)) <= p / 2.0 + 1.5);
  }
}

TEST_CASE("1F1B written as a block is 1F1B", "[blocks][plan]") {
  const std::string text = "placement: looped\ninterval: 3\ncells: {F0: {}, B0: {}}";
  for (std::uint32_t p = 1; p <= 8; ++p) {
    const schedules::Schedule schedule = workload::make_schedule(read(text), p, 3 * p, 2);
    schedules::check_complete(schedule);
    CHECK(schedule.total_microbatches() == 6 * p);
    CHECK(schedules::peak_in_flight(schedule).front() == p);
    const schedules::Schedule once = workload::make_schedule(read(text), p, 3 * p, 1);
    CHECK(tests::timed(once, tests::uniform_times(once, 1, 1, 1)).idle == 3 * (p - 1));
  }
}

TEST_CASE("a block may hold two microbatches", "[blocks][plan]") {
  // In 1F1B with 2/3 of the memory, device r runs F_j at cell r + 2j and I_j at cell 2p - 1 - r +
  // 2j.
  const std::string text =
      "{placement: looped, interval: 6, microbatches: 2, cells: {F0: [{at: 0}, {at: 2}], I0: [{}, "
      "{}]}}";
  for (std::uint16_t p = 1; p <= 12; ++p) {
    const schedules::BuildingBlock block = block_of(text, p);
    for (std::uint16_t r = 0; r < p; ++r)
      for (const std::uint32_t j : {0U, 1U}) {
        CHECK(cell(block, PassKind::forward, r, j) == r + 2 * j);
        CHECK(cell(block, PassKind::input_grad, r, j) == 2 * p - 1 - r + 2 * j);
      }
  }
}

TEST_CASE("listed cells, gaps and recomputation are placed where the file says", "[blocks][plan]") {
  const schedules::BuildingBlock block = block_of(
      "placement: [0, 1, 1, 0]\ninterval: 12\nlengths: {W: 2}\ncells:\n  F0: [0, 1]\n  F1: {gap: "
      "1}\n  I1: {at: 6}\n  W1: {gap: 1}\n  R0: {gap: 0}\n  B0: [26, 17]\n",
      2);
  CHECK(cell(block, PassKind::forward, 2) == 3);
  CHECK(cell(block, PassKind::forward, 3) == 4);
  CHECK(cell(block, PassKind::input_grad, 3) == 6);
  CHECK(cell(block, PassKind::input_grad, 2) == 7);
  CHECK(cell(block, PassKind::weight_grad, 3) == 8);
  CHECK(cell(block, PassKind::recompute, 1) == 16);
  CHECK(cell(block, PassKind::recompute, 0) == 25);
  CHECK(block.recomputed == std::vector<bool>{true, true, false, false});
  const schedules::Schedule schedule = to_schedule(schedules::repeat(block, 4));
  schedules::check_complete(schedule);
}

TEST_CASE("recomputation is placed before its gradient", "[blocks][plan]") {
  const std::string text = "{placement: looped, interval: 6, cells: {F0: {}, R0: {}, B0: {}}}";
  for (std::uint16_t p = 1; p <= 8; ++p) {
    const schedules::BuildingBlock block = block_of(text, p);
    schedules::repeat(block, 2);
    for (std::uint16_t r = 0; r < p; ++r)
      CHECK(cell(block, PassKind::recompute, r) < cell(block, PassKind::backward, r));
    CHECK(std::ranges::max(schedules::lifespan_bound(block)) <= 2);
  }
}

TEST_CASE("more memory for the reordering never makes a block slower", "[blocks][plan]") {
  double previous = 1e9;
  for (const double memory : {3.5, 4.0, 4.5, 6.0}) {
    const schedules::Schedule schedule =
        workload::make_schedule(read(v_half + "memory: " + std::to_string(memory)), 4, 16, 1);
    CHECK(std::ranges::max(schedules::peak_in_flight(schedule)) <= memory);
    const double span = tests::timed(schedule, tests::uniform_times(schedule, 1, 1, 1)).span_bubble;
    CHECK(span <= previous);
    previous = span;
  }
}

TEST_CASE("an impossible block is rejected at its location in the file", "[blocks][plan]") {
  CHECK(error_of(v_half).empty());
  CHECK(error_of("placement: looped\ninterval: 2\ncells: {F0: {}, B0: {}}") ==
        "b.yaml:3:8: cells: the passes of a block take 3 cells on every device, but interval is 2; "
        "allowed: at least 3");
  CHECK(error_of("placement: looped\ninterval: 6\ncells:\n  F0: {}\n  B0: {at: 6, step: 3}") ==
        "b.yaml:5:7: B0 collides on device 1: it is at cell 12, F of microbatch 0 on stage 1 is "
        "at cell 1, and the block repeats every 6 cells");
  CHECK(error_of("placement: looped\ninterval: 6\ncells:\n  F0: [0, 1, 2, 2]\n  B0: {}") ==
        "b.yaml:4:7: F of microbatch 0 on stage 3 at cell 2 (device 3) starts before F of "
        "microbatch 0 on stage 2 at cell 2 (device 2) has ended; it can start at cell 3");
  CHECK_THAT(error_of("placement: looped\ninterval: 6\ncells:\n  F0: {step: -1}\n  B0: {}"),
             Catch::Contains("b.yaml:4:7: F of microbatch 0 on stage 1 at cell -1"));
  CHECK_THAT(error_of("placement: looped\ninterval: 6\ncells:\n  F0: [0, 1]\n  B0: {}"),
             Catch::Contains("b.yaml:4:7: F0 has 2 cells for 4 devices"));
  CHECK_THAT(error_of("placement: [0, 1]\ninterval: 6\ncells:\n  F0: {}\n  B0: {}"),
             Catch::Contains("b.yaml:1:12: placement is for 2 devices, but 4 are requested"));
  CHECK_THAT(
      error_of("placement: v\ninterval: 6\nmemory: 2\n" + v_half.substr(25)),
      Catch::Contains("b.yaml:3:9: memory is 2 microbatches, but the block itself holds 3.5"));
  CHECK_THAT(error_of("{placement: looped, interval: 4, cells: {F0: {}, I0: {at: 3}, W0: [2]}}", 1),
             Catch::Contains("b.yaml:1:67: W of microbatch 0 on stage 0 at cell 2"));
  CHECK_THAT(error_of("{placement: looped, interval: 3, cells: {F0: {step: 1}, B0: {step: 3}}}"),
             Catch::Contains("B0 collides with earlier passes wherever it starts"));
  CHECK_THAT(error_of("{placement: looped, interval: 4, cells: {F0: {step: 1000000}, B0: {step: "
                      "1000000}}}",
                      3000),
             Catch::Contains("blocks overlap and have"));
  CHECK_THAT(error_of(v_half, 32768), Catch::Contains("32768 devices with 2 stages each exceed"));
}
