#include "schedules/blocks/building_block.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace pipewright::schedules;

namespace {

// A pass of the V-shaped building block of Qi et al. 2024: its cell on device 0, and how many cells
// later the next device runs it.
struct Lane {
  std::int64_t at, step;
};

BuildingBlock v_block(std::uint32_t devices, Lane f0, Lane f1, Lane i1, Lane i0) {
  BuildingBlock block{.name = "v",
                      .devices = devices,
                      .routes = Routes::v_shape(devices),
                      .recomputed = {},
                      .passes = {}};
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto down = static_cast<std::uint16_t>(device);
    const auto up = static_cast<std::uint16_t>(2 * devices - 1 - device);
    const auto cell = [&](const Lane& lane) { return lane.at + lane.step * device; };
    block.passes.push_back({{PassKind::forward, down}, cell(f0)});
    block.passes.push_back({{PassKind::forward, up}, cell(f1)});
    block.passes.push_back({{PassKind::input_grad, up}, cell(i1)});
    block.passes.push_back({{PassKind::input_grad, down}, cell(i0)});
  }
  return block;
}

BuildingBlock v_min(std::uint32_t p) {
  const std::int64_t d = p % 3 == 0 ? 2 : 0;
  return v_block(p, {0, 1}, {2 * p - 1, -1}, {2 * p + d, 1}, {4 * p + d - 1, -1});
}

BuildingBlock v_half(std::uint32_t p) {
  const std::int64_t d = p % 2 == 0 ? 3 : 0;
  return v_block(p, {0, 2}, {3 * p - 2, -1}, {3 * p - 1 + d, 2}, {6 * p - 2 + d, -1});
}

// Returns the building block of 1F1B in which backward passes are not split: F takes one cell and B
// two.
BuildingBlock one_f_one_b(std::uint32_t p) {
  BuildingBlock block{.name = "1f1b",
                      .devices = p,
                      .routes = Routes::looped(p, 1),
                      .interval = 3,
                      .recomputed = {},
                      .passes = {}};
  for (std::uint16_t r = 0; r < p; ++r) {
    block.passes.push_back({{PassKind::forward, r}, r});
    block.passes.push_back({{PassKind::backward, r}, p + 2 * (p - 1 - r)});
  }
  return block;
}

std::string error_of(const BuildingBlock& block) {
  try {
    check_block(block);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

BlockPass& find(BuildingBlock& block, PassKind kind, std::uint16_t stage) {
  return *std::ranges::find(block.passes, Pass{kind, stage}, &BlockPass::pass);
}

}  // namespace

TEST_CASE("weight gradients fill the free cells after their input gradients", "[blocks]") {
  for (std::uint32_t p = 2; p <= 16; ++p)
    for (BuildingBlock block : {v_min(p), v_half(p)}) {
      place_weight_grads(block);
      CHECK(block.passes.size() == 6 * p);
      check_block(block);
      std::set<std::pair<std::uint32_t, std::int64_t>> taken;  // device, cell modulo the interval
      for (const BlockPass& placed : block.passes)
        taken.insert({block.routes.device(placed.pass.stage, 0), placed.cell % block.interval});
      CHECK(taken.size() == block.passes.size());
    }
}

TEST_CASE("weight gradients follow the order of input gradients, each as early as possible",
          "[blocks]") {
  // On device 0, passes occupy cells 0, 3, 4 and 1 of each interval of 6. The I of stage 3 ends at
  // cell 5 and that of stage 0 at cell 8, which are free for their W.
  BuildingBlock block = v_block(2, {0, 1}, {3, -1}, {4, 1}, {7, -1});
  place_weight_grads(block);
  CHECK(find(block, PassKind::weight_grad, 3).cell == 5);
  CHECK(find(block, PassKind::weight_grad, 0).cell == 8);
  const std::vector<BlockPass> before = block.passes;
  place_weight_grads(block);  // No W is missing now.
  CHECK(block.passes.size() == before.size());
}

TEST_CASE("a long weight gradient needs adjacent free cells", "[blocks]") {
  BuildingBlock block{.name = "long",
                      .devices = 1,
                      .routes = Routes::looped(1, 1),
                      .interval = 5,
                      .recomputed = {},
                      .passes = {}};
  block.lengths[static_cast<int>(PassKind::weight_grad)] = 2;
  block.passes = {{{PassKind::forward, 0}, 0}, {{PassKind::input_grad, 0}, 2}};
  SECTION("which may wrap around the end of the interval") {
    block.passes[0].cell = -4;  // residue 1
    place_weight_grads(block);
    CHECK(find(block, PassKind::weight_grad, 0).cell == 3);
    CHECK(lifespan_bound(block) == std::vector<double>{2});  // From -4 to 5 there are 9 cells.
  }
  SECTION("otherwise the block is rejected") {
    block.interval = 3;
    CHECK_THROWS_WITH(
        place_weight_grads(block),
        "long: device 0 has no 2 free cells for the W of I of microbatch 0 on stage 0 "
        "at cell 2: its other passes take 2 of the interval's 3");
  }
}

TEST_CASE("the lifespan bound gives the papers' memory", "[blocks]") {
  for (std::uint32_t p = 2; p <= 16; ++p) {
    const std::vector<double> bound = lifespan_bound(one_f_one_b(p));
    for (std::uint32_t r = 0; r < p; ++r) CHECK(bound[r] == p - r);
  }
  // 1F1B holds up to p activations; v-min needs a third and v-half half of that, plus at most two
  // for the ends of the V.
  for (const std::uint32_t p : {8U, 12U, 16U}) {
    BuildingBlock low = v_min(p);
    BuildingBlock half = v_half(p);
    place_weight_grads(low);
    place_weight_grads(half);
    CHECK(std::ranges::max(lifespan_bound(low)) <= p / 3.0 + 2);
    CHECK(std::ranges::max(lifespan_bound(half)) <= p / 2.0 + 2);
    CHECK(std::ranges::max(lifespan_bound(low)) < std::ranges::max(lifespan_bound(half)));
  }
}

TEST_CASE("the lifespan of a recomputed stage starts with its recomputation", "[blocks]") {
  BuildingBlock block{.name = "r",
                      .devices = 1,
                      .routes = Routes::looped(1, 1),
                      .interval = 4,
                      .recomputed = {true},
                      .passes = {}};
  block.passes = {
      {{PassKind::forward, 0}, 0}, {{PassKind::recompute, 0}, 9}, {{PassKind::backward, 0}, 10}};
  check_block(block);
  CHECK(lifespan_bound(block) == std::vector<double>{1});
  block.passes[1].cell = 0;
  CHECK_THAT(error_of(block), Catch::Contains("R of microbatch 0 on stage 0 at cell 0 (device 0) "
                                              "starts before F"));
  block.passes[1].cell = 10;
  CHECK_THAT(error_of(block), Catch::Contains("B of microbatch 0 on stage 0 at cell 10 (device 0) "
                                              "starts before R"));
  block.passes.erase(block.passes.begin() + 1);
  CHECK(error_of(block) ==
        "r: R of microbatch 0 on stage 0 is missing; a stage runs F, then R and "
        "B, or R, I and W");
}

TEST_CASE("every pass starts after its inputs", "[blocks]") {
  CHECK(error_of(one_f_one_b(3)).empty());
  const auto moved = [](PassKind kind, std::uint16_t stage, std::int64_t cells) {
    BuildingBlock block = one_f_one_b(3);
    find(block, kind, stage).cell += cells;
    return error_of(block);
  };
  CHECK(moved(PassKind::forward, 1, -1) ==
        "1f1b: F of microbatch 0 on stage 1 at cell 0 (device 1) starts before F of microbatch 0 "
        "on stage 0 at cell 0 (device 0) has ended; it can start at cell 1");
  CHECK_THAT(moved(PassKind::backward, 2, -1), Catch::Contains("starts before F of microbatch 0 on "
                                                               "stage 2"));
  CHECK_THAT(moved(PassKind::backward, 0, -1), Catch::Contains("starts before B of microbatch 0 on "
                                                               "stage 1"));
  CHECK(moved(PassKind::backward, 0, 1).empty());

  BuildingBlock split = v_min(4);
  place_weight_grads(split);
  find(split, PassKind::weight_grad, 7).cell = find(split, PassKind::input_grad, 7).cell;
  CHECK_THAT(error_of(split), Catch::Contains("W of microbatch 0 on stage 7"));
}

TEST_CASE("every stage runs each of its passes once", "[blocks]") {
  BuildingBlock block = one_f_one_b(2);
  SECTION("no pass is missing") {
    block.passes.pop_back();
    CHECK(error_of(block) ==
          "1f1b: I of microbatch 0 on stage 1 is missing; a stage runs F, then "
          "B, or I and W");
  }
  SECTION("no pass occurs twice") {
    block.passes.push_back({{PassKind::forward, 1}, 7});
    CHECK(error_of(block) ==
          "1f1b: F of microbatch 0 on stage 1 at cell 7 stands at cell 1 already");
  }
  SECTION("a whole backward excludes its halves") {
    block.passes.push_back({{PassKind::weight_grad, 1}, 7});
    CHECK_THAT(error_of(block), Catch::Contains("W of microbatch 0 on stage 1 is not allowed"));
  }
  SECTION("passes of other stages or microbatches are rejected") {
    block.passes.push_back({{PassKind::forward, 2}, 7});
    CHECK_THAT(error_of(block), Catch::Contains("outside the block of 1 microbatches on 2 stages"));
  }
  SECTION("every microbatch has all passes") {
    block.microbatches = 2;
    CHECK_THAT(error_of(block), Catch::Contains("F of microbatch 1 on stage 0 is missing"));
  }
  SECTION("the interval is positive") {
    block.interval = 0;
    CHECK_THAT(error_of(block), Catch::Contains("the interval is 0 cells"));
  }
}
