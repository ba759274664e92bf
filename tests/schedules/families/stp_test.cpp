#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "support/timed.hpp"

using namespace pipewright;
using schedules::make_schedule;
using schedules::Pass;
using schedules::PassKind;
using tests::timed;

namespace {

struct Times {
  double forward, input_grad, weight_grad;
};

// Returns durations of a schedule whose chunks take these times; a fused pair takes their sum.
tests::ScheduleDurations run(std::uint32_t p, std::uint32_t m, const Times& times) {
  const auto schedule = make_schedule("stp", {.devices = p, .microbatches = m});
  return timed(schedule, tests::uniform_times(schedule, 2 * times.forward, 2 * times.input_grad,
                                              2 * times.weight_grad));
}

}  // namespace

TEST_CASE("STP meets its reference vectors", "[stp]") {
  CHECK(run(4, 12, {1, 1, 1}).makespan == Approx(75));
  CHECK(run(4, 16, {1, 1, 1}).makespan == Approx(99));
  CHECK(run(8, 24, {1, 1, 1}).makespan == Approx(151));
  CHECK(run(8, 32, {1, 1, 1}).makespan == Approx(199));
  CHECK(run(8, 64, {1, 1, 1}).makespan == Approx(391));
  CHECK(run(4, 16, {2, 3, 1}).makespan == Approx(213));
  CHECK(run(8, 32, {2, 3, 1}).makespan == Approx(433));
  CHECK(run(4, 16, {1, 2, 1}).makespan == Approx(137));
  CHECK(run(8, 32, {1, 2, 1}).makespan == Approx(277));
}

TEST_CASE("the bubble of STP is (p-1)(2F + 2I - 3W) from 3p-1 microbatches on", "[stp]") {
  for (const Times& times : {Times{1, 1, 1}, Times{2, 3, 1}, Times{1, 2, 1}, Times{10, 12, 8}})
    for (std::uint32_t p = 1; p <= 8; ++p)
      for (std::uint32_t m = std::max(2 * p, 3 * p - 1); m <= 4 * p + 1; ++m) {
        CAPTURE(p, m, times.forward, times.input_grad, times.weight_grad);
        CHECK(run(p, m, times).idle ==
              Approx((p - 1) * (2 * times.forward + 2 * times.input_grad - 3 * times.weight_grad))
                  .margin(1e-9));
      }
}

TEST_CASE("STP keeps the order of its passes when microbatches are few", "[stp]") {
  constexpr std::uint32_t p = 4;
  const auto few = make_schedule("stp", {.devices = p, .microbatches = 2 * p});
  const auto many = make_schedule("stp", {.devices = p, .microbatches = 3 * p - 1});
  for (std::uint32_t device = 0; device < p; ++device) {
    auto expected = schedules::passes_of(many.programs[device]);
    std::erase_if(expected, [](const Pass& pass) { return pass.microbatch >= 2 * p; });
    auto passes = schedules::passes_of(few.programs[device]);
    for (auto* const list : {&expected, &passes})
      for (Pass& pass : *list) pass.fused = false;
    CHECK(passes == expected);
  }
}

TEST_CASE("STP pairs forwards with each other, with I, W and B of the same chunk", "[stp]") {
  const auto passes =
      schedules::passes_of(make_schedule("stp", {.devices = 2, .microbatches = 6}).programs[1]);
  // Device 1 is the last: it has no device after it, and the stages 1 and 2.
  const std::vector<Pass> start{{PassKind::forward, 1, 0},       {PassKind::forward, 2, 0},
                                {PassKind::forward, 1, 1},       {PassKind::forward, 2, 1},
                                {PassKind::forward, 1, 2, true}, {PassKind::forward, 1, 3},
                                {PassKind::forward, 2, 2, true}, {PassKind::backward, 2, 0},
                                {PassKind::forward, 1, 4, true}, {PassKind::backward, 1, 0}};
  REQUIRE(passes.size() > start.size());
  CHECK(std::vector<Pass>(passes.begin(), passes.begin() + 10) == start);
  std::set<std::pair<PassKind, PassKind>> kinds;
  for (const schedules::Program& program :
       make_schedule("stp", {.devices = 4, .microbatches = 12}).programs) {
    const auto of_device = schedules::passes_of(program);
    for (std::size_t i = 0; i + 1 < of_device.size(); ++i) {
      if (!of_device[i].fused) continue;
      kinds.insert({of_device[i].kind, of_device[i + 1].kind});
      if (of_device[i + 1].kind != PassKind::weight_grad)
        CHECK(of_device[i].stage == of_device[i + 1].stage);
    }
  }
  CHECK(kinds == std::set<std::pair<PassKind, PassKind>>{{PassKind::forward, PassKind::forward},
                                                         {PassKind::forward, PassKind::input_grad},
                                                         {PassKind::forward, PassKind::weight_grad},
                                                         {PassKind::forward, PassKind::backward}});
}

TEST_CASE("STP holds 3p + max(1, r) chunks on device r", "[stp]") {
  for (std::uint32_t p = 1; p <= 8; ++p)
    for (const std::uint32_t m : {std::max(2 * p, 3 * p - 1), 5 * p}) {
      const auto peaks =
          schedules::peak_in_flight(make_schedule("stp", {.devices = p, .microbatches = m}));
      for (std::uint32_t r = 0; r < p; ++r) {
        CAPTURE(p, m, r);
        CHECK(peaks[r] == Approx((3 * p + std::max(1U, r)) / 2.0));
      }
    }
}

TEST_CASE("STP needs two microbatches for each device", "[stp]") {
  CHECK_THROWS_WITH(make_schedule("stp", {.devices = 4, .microbatches = 7}),
                    "stp: 4 devices need at least 8 microbatches, not 7");
  CHECK_NOTHROW(make_schedule("stp", {.devices = 4, .microbatches = 8}));
}

TEST_CASE("PyTorch can run STP only without its pairs", "[stp]") {
  CHECK_THROWS_WITH(
      schedules::to_torch_csv(make_schedule("stp", {.devices = 4, .microbatches = 12})),
      Catch::Contains("can pair a forward only with the backward right after it"));
  const auto apart = make_schedule("stp", {.devices = 4, .microbatches = 12, .fused = 0});
  const auto read = schedules::read_torch_csv(schedules::to_torch_csv(apart), "stp.csv").schedule;
  for (std::uint32_t device = 0; device < 4; ++device)
    CHECK(schedules::passes_of(read.programs[device]) ==
          schedules::passes_of(apart.programs[device]));
}
