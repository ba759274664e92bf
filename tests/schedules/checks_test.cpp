#include "schedules/checks.hpp"

#include <catch2/catch.hpp>

using namespace pipewright::schedules;

namespace {

constexpr auto F = PassKind::forward;
constexpr auto I = PassKind::input_grad;
constexpr auto W = PassKind::weight_grad;
constexpr auto B = PassKind::backward;

// Returns a schedule of one device with two chunks and one microbatch that runs these passes in
// this order.
Schedule in_order(std::vector<Pass> passes) {
  Program program;
  program.repeat(1, 0, std::move(passes));
  return {.name = "mine",
          .devices = 1,
          .chunks = 2,
          .microbatches = 1,
          .routes = Routes::looped(1, 2),
          .programs = {program}};
}

}  // namespace

TEST_CASE("a complete schedule may mix B with I and W", "[checks]") {
  CHECK_NOTHROW(check_complete(in_order({{F, 0, 0}, {F, 1, 0}, {I, 1, 0}, {B, 0, 0}, {W, 1, 0}})));
}

TEST_CASE("an error names missing and repeated passes", "[checks]") {
  CHECK_THROWS_WITH(check_complete(in_order({{F, 0, 0}, {F, 1, 0}, {B, 1, 0}})),
                    "mine: microbatch 0 is never finished on stage 0");
  CHECK_THROWS_WITH(check_complete(in_order({{F, 0, 0}, {F, 1, 0}, {I, 1, 0}, {B, 0, 0}})),
                    "mine: microbatch 0 is never finished on stage 1");
  CHECK_THROWS_WITH(
      check_complete(in_order({{F, 0, 0}, {F, 0, 0}})),
      "mine: device 0: F of microbatch 0 on stage 0 comes twice or before what it needs");
  CHECK_THROWS_WITH(check_complete(in_order({{F, 0, 0}, {W, 0, 0}})),
                    Catch::Contains("W of microbatch 0 on stage 0 comes twice or before"));
  CHECK_THROWS_WITH(check_complete(in_order({{F, 2, 0}})), Catch::Contains("is outside"));
  CHECK_THROWS_WITH(check_complete(in_order({{F, 0, 1}})), Catch::Contains("is outside"));
}

TEST_CASE("an error names a pass on a device without its stage", "[checks]") {
  Schedule schedule = in_order({{F, 1, 0}});
  schedule.routes = Routes({{0, 1}});
  CHECK_THROWS_WITH(check_complete(schedule), Catch::Contains("belongs to another device"));
}

TEST_CASE("a stage may live on two devices, one for each direction", "[checks]") {
  // Even microbatches pass from device 0 to device 1, odd ones from device 1 to device 0.
  const Routes routes({{0, 1}, {1, 0}});
  CHECK(routes.device(0, 0) == 0);
  CHECK(routes.device(0, 1) == 1);
  CHECK(routes.chunk(1, 0) == 1);  // device 1 holds stages 0 and 1
  Program first;
  first.repeat(1, 0, {{F, 0, 0}, {F, 1, 1}, {B, 1, 1}, {B, 0, 0}});
  Program second;
  second.repeat(1, 0, {{F, 0, 1}, {F, 1, 0}, {B, 1, 0}, {B, 0, 1}});
  CHECK_NOTHROW(check_complete({.name = "both ways",
                                .devices = 2,
                                .chunks = 2,
                                .microbatches = 2,
                                .routes = routes,
                                .programs = {first, second}}));
}
