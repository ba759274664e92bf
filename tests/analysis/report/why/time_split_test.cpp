#include "analysis/report/why/time_split.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "support/timed.hpp"
#include "tests/analysis/report/why/random_runs.hpp"
#include "tests/analysis/report/why/timed_runs.hpp"

using namespace pipewright;
using analysis::TimeSplit;

namespace {

void check(const trace::Trace& trace, const std::string& what) {
  INFO(what);
  const analysis::Summary summary = analysis::summarize(trace);
  const double tolerance = 1e-7 * summary.makespan_s;
  for (const TimeSplit& split : analysis::time_splits(trace)) {
    CAPTURE(split.device);
    const analysis::DeviceSummary& device = summary.devices[split.device];
    CHECK(std::abs(split.total_s() - summary.makespan_s) < tolerance);
    CHECK(std::abs(split.computing_s() + split.in_passes_s - device.busy_s) < tolerance);
    CHECK(std::abs(split.optimizer_s - device.parts.optimizer) < tolerance);
    bool negative = false;
    for (const double part :
         {split.in_passes_s, split.p2p_s, split.weights_s, split.gradients_s, split.embeddings_s,
          split.norm_s, split.warm_up_s, split.steady_s, split.cool_down_s, split.imbalance_s})
      negative = negative || part < 0;
    CHECK(!negative);
  }
}

}  // namespace

TEST_CASE("the parts of a device's time add up to the makespan", "[why]") {
  CHECK(tests::random_pipelines(check) > 150);
}

TEST_CASE("the parts of a device's time add up with collectives and steps", "[why]") {
  CHECK(tests::random_hybrids(check) > 100);
}

TEST_CASE("the bubble of 1F1B is in its warm-up and its cool-down", "[why]") {
  const auto splits = analysis::time_splits(tests::one_f_one_b({1, 1, 1, 1}, 8));
  for (std::uint32_t device = 0; device < 4; ++device) {
    CAPTURE(device);
    const TimeSplit& split = splits[device];
    CHECK(split.compute_s[static_cast<std::size_t>(trace::PassKind::forward)] == Approx(8));
    CHECK(split.compute_s[static_cast<std::size_t>(trace::PassKind::backward)] == Approx(16));
    // Device d starts its first backward pass after the time of p forward and p - 1 - d backward
    // passes, in which it computes for only p - d forward passes.
    CHECK(split.warm_up_s == Approx(device + 2 * (3 - device)));
    CHECK(split.cool_down_s == Approx((3 - device) + 2 * device));
    CHECK(split.steady_s == Approx(0).margin(1e-12));
    CHECK(split.imbalance_s == 0);
    CHECK(split.bubble_s() == Approx((4 - 1) * 3));
  }
}

TEST_CASE("next to a slow stage, imbalance is the additional work of that stage", "[why]") {
  const auto splits = analysis::time_splits(tests::one_f_one_b({1, 1, 2, 1}, 16));
  const double makespan = 16 * 6 + 2 * 3 + 1;
  for (const TimeSplit& split : splits) {
    CAPTURE(split.device);
    CHECK(split.imbalance_s == Approx(split.device == 2 ? 0 : 16 * 3).margin(1e-9));
    // The bubble of every device without its imbalance is the idle time of the busiest device.
    CHECK(split.bubble_s() - split.imbalance_s == Approx(makespan - 16 * 6));
  }
}

namespace {

trace::Trace iterations_of(const char* name, std::uint32_t iterations, double latency,
                           schedules::P2p mode = schedules::P2p::eager) {
  const auto schedule =
      schedules::make_schedule(name, {.devices = 4, .microbatches = 8, .iterations = iterations});
  return tests::timed_run(schedule, tests::uniform_times(schedule, 1, 1, 1), latency, mode);
}

void check_same_shares(const trace::Trace& once, const trace::Trace& often) {
  const double count = often.run.iterations;
  REQUIRE(analysis::summarize(often).makespan_s ==
          Approx(count * analysis::summarize(once).makespan_s));
  const auto single = analysis::time_splits(once);
  const auto repeated = analysis::time_splits(often);
  for (std::uint32_t device = 0; device < repeated.size(); ++device) {
    CAPTURE(device, count);
    CHECK(repeated[device].warm_up_s == Approx(count * single[device].warm_up_s).margin(1e-6));
    CHECK(repeated[device].steady_s == Approx(count * single[device].steady_s).margin(1e-6));
    CHECK(repeated[device].cool_down_s == Approx(count * single[device].cool_down_s).margin(1e-6));
    CHECK(repeated[device].p2p_s == Approx(count * single[device].p2p_s).margin(1e-6));
  }
}

}  // namespace

TEST_CASE("several equal iterations have the shares of one", "[why]") {
  for (const char* name : {"1f1b", "gpipe", "interleaved-1f1b"})
    for (const double latency : {0.0, 0.25})
      for (const auto mode : {schedules::P2p::eager, schedules::P2p::rendezvous})
        for (const std::uint32_t iterations : {1U, 2U, 3U}) {
          CAPTURE(name, latency, static_cast<int>(mode));
          check_same_shares(iterations_of(name, 1, latency, mode),
                            iterations_of(name, iterations, latency, mode));
        }
}

TEST_CASE("several equal iterations with steps have the shares of one", "[why]") {
  const cluster::Cluster cluster = tests::mesh_cluster(8);
  const auto of = [&](std::uint32_t iterations) {
    tests::HybridJob job(schedules::make_schedule(
                             "1f1b", {.devices = 4, .microbatches = 8, .iterations = iterations}),
                         {.dp = 2});
    job.set_parameters(1'000'000);
    for (double& seconds : job.costs.optimizer_seconds) seconds = 0.5;
    job.communication().global_norm = true;
    return job.run(cluster);
  };
  const trace::Trace once = of(1);
  for (const std::uint32_t iterations : {2U, 3U}) check_same_shares(once, of(iterations));
}

TEST_CASE("a schedule without flushes has one warm-up and one cool-down", "[why]") {
  const auto once = analysis::time_splits(iterations_of("1f1b", 1, 0));
  const auto without = analysis::time_splits(iterations_of("1f1b-2bw", 3, 0));
  CHECK(without[0].bubble_s() == Approx(once[0].bubble_s()));
}
