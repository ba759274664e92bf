#include "analysis/report/training_cost.hpp"

#include <catch2/catch.hpp>

using namespace pipewright::analysis;

namespace {

// Summary of a run of 10 s on two devices of four GPUs each: one device computes for 6 s, the other
// for 8 s.
Summary two_devices() {
  Summary run;
  run.run.schedule = "1f1b";
  run.run.devices = 2;
  run.run.ranks_per_stage = 4;
  run.makespan_s = 10;
  run.tokens_per_s = 100;
  run.devices.resize(2);
  run.devices[0].parts.compute = 6;
  run.devices[1].parts.compute = 7.5;
  run.devices[1].parts.optimizer = 0.5;
  return run;
}

}  // namespace

TEST_CASE("a training costs GPU-hours and energy in proportion to its tokens", "[cost]") {
  const Summary run = two_devices();
  const TrainingQuestion question{
      .tokens = 36e6, .price_per_gpu_hour = 2, .power = {{.compute = 700, .idle = 100}}};
  const auto cost = training_cost(run, question);
  REQUIRE(cost);
  CHECK(cost->seconds == Approx(100 * 3600));
  CHECK(cost->gpu_hours == Approx(100 * 8));
  CHECK(*cost->price == Approx(1600));
  // GPUs draw 700 W while they compute and 100 W while they idle, in each of 36,000 iterations: 4 x
  // (6 x 700 + 4 x 100) + 4 x (8 x 700 + 2 x 100) J.
  CHECK(*cost->joules == Approx(41600.0 * 36000));
  CHECK(training_cost_table({&run, 1}, question) ==
        "\n36 M tokens, without failures and restarts:\n\n"
        "          days  GPU-hours  price  energy\n"
        "schedule                       $     MWh\n"
        "1f1b      4.17        800   1600    0.42\n");
}

TEST_CASE("unknown tokens, price or power leave out parts of the cost", "[cost]") {
  Summary run = two_devices();
  const auto cost = training_cost(run, {.tokens = 36e6});
  REQUIRE(cost);
  CHECK_FALSE(cost->price);
  CHECK_FALSE(cost->joules);
  run.tokens_per_s.reset();
  CHECK_FALSE(training_cost(run, {.tokens = 36e6}));
  CHECK(training_cost_table({&run, 1}, {.tokens = 36e6}).empty());
}
