#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/timed.hpp"

// Tests schedules that fuse forward and backward passes in the steady state, as Megatron-LM does
// with overlap_moe_expert_parallel_comm.

using namespace pipewright;
using schedules::make_schedule;
using schedules::Pass;
using schedules::PassKind;
using tests::timed;

namespace {

schedules::Schedule fused(const char* name, std::uint32_t p, std::uint32_t m, std::uint32_t chunks,
                          std::optional<std::uint32_t> group = {}) {
  return make_schedule(name, {.devices = p,
                              .microbatches = m,
                              .chunks = chunks == 1 ? std::nullopt : std::optional(chunks),
                              .group_size = group,
                              .fused = 1});
}

// Returns pass times in which F of a chunk takes 1, B takes 2, and a fused pair takes `pair`.
schedules::PassTimes times_with(const schedules::Schedule& schedule, double pair) {
  auto times = tests::uniform_times(schedule, schedule.chunks, schedule.chunks, schedule.chunks);
  times.fused.assign(schedule.stages(), pair);
  return times;
}

}  // namespace

TEST_CASE("on one device each F but the first is fused with the B of the previous microbatch",
          "[fused]") {
  const auto passes = schedules::passes_of(fused("1f1b", 1, 3, 1).programs[0]);
  CHECK(passes == std::vector<Pass>{{PassKind::forward, 0, 0},
                                    {PassKind::forward, 0, 1, true},
                                    {PassKind::backward, 0, 0},
                                    {PassKind::forward, 0, 2, true},
                                    {PassKind::backward, 0, 1},
                                    {PassKind::backward, 0, 2}});
  for (std::uint32_t m = 1; m <= 9; ++m) {
    const auto schedule = fused("1f1b", 1, m, 1);
    CHECK(timed(schedule, times_with(schedule, 2.5)).makespan == 1 + (m - 1) * 2.5 + 2);
    CHECK(schedules::peak_in_flight(schedule)[0] == std::min(2U, m));
  }
}

TEST_CASE("interleaved pairs follow one another, and one more forward runs ahead", "[fused]") {
  for (std::uint32_t p = 2; p <= 6; ++p)
    for (std::uint32_t v = 2; v <= 4; ++v)
      for (const std::uint32_t m : {2 * p, 5 * p})
        for (const double pair : {3.0, 2.5}) {
          const auto schedule = fused("interleaved-1f1b", p, m, v);
          CAPTURE(p, v, m, pair);
          // The last device runs `ahead` forward passes, then its fused pairs and the remaining
          // backward passes. The first forward pass has to reach it, and the last backward pass to
          // return.
          const std::uint32_t ahead = (v - 1) * p + 1;
          CHECK(timed(schedule, times_with(schedule, pair)).makespan ==
                Approx((p - 1) * 3 + ahead * 3 + (m * v - ahead) * pair));
          for (std::uint32_t r = 0; r < p; ++r)
            CHECK(schedules::peak_in_flight(schedule)[r] ==
                  Approx(std::min<double>(m * v, (v - 1) * p + 2 * (p - 1 - r) + 2) / v));
        }
}

TEST_CASE("fused pairs of one chunk on several devices are rejected, as in Megatron-LM",
          "[fused]") {
  CHECK_THROWS_WITH(fused("1f1b", 4, 8, 1),
                    "1f1b: fused pairs on 4 devices need several chunks per device, as in "
                    "Megatron-LM; use interleaved-1f1b with at least 2 chunks");
  CHECK_THROWS_WITH(
      make_schedule("interleaved-1f1b", {.devices = 4, .microbatches = 8, .chunks = 1, .fused = 1}),
      Catch::Contains("fused pairs need at least 2 chunks per device"));
  CHECK_THROWS_WITH(
      make_schedule("zb-h1", {.devices = 4, .microbatches = 8, .fused = 1}),
      "zb-h1: takes no fused pairs; 1f1b, interleaved-1f1b, dualpipe, dualpipe-v, stp do");
}

TEST_CASE("DualPipe without pairs runs the same passes one by one", "[fused]") {
  const schedules::Parameters sizes{.devices = 4, .microbatches = 10};
  schedules::Parameters apart = sizes;
  apart.fused = 0;
  const auto plain = make_schedule("dualpipe-v", apart);
  CHECK_FALSE(schedules::has_fused_pairs(plain));
  auto paired = schedules::passes_of(make_schedule("dualpipe-v", sizes).programs[0]);
  for (Pass& pass : paired) pass.fused = false;
  CHECK(schedules::passes_of(plain.programs[0]) == paired);
}
