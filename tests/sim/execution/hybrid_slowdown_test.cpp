#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests the slowdown of compute beside collectives: 1F1B on two devices with two replicas, each in
// a node of its own. A backward pass takes 2 s.

using namespace pipewright;
using tests::step_of;

namespace {

struct Job : tests::HybridJob {
  Job()
      : HybridJob(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 4}), {.dp = 2}) {
    communication().gradient_bytes = 4;
    communication().global_norm = false;
  }
};

double reduction(double bytes) { return bytes / tests::nic + 2 * tests::outside; }

// Returns the duration of a device's last pass.
double last_pass(const trace::Trace& trace, std::uint32_t device) {
  double seconds = 0;
  for (const trace::PassRow& row : trace.passes)
    if (row.device == device) seconds = row.end - row.start;
  return seconds;
}

}  // namespace

TEST_CASE("compute slows down by the given factor while a reduction runs", "[hybrid]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job job;
  job.set_parameters(3'000'000'000);  // four buckets, of 0.3 s each
  job.communication().bucket = 3'000'000'000;
  for (const double slowdown : {1.0, 1.25, 2.0}) {
    CAPTURE(slowdown);
    job.communication().overlap_slowdown = slowdown;
    const auto trace = job.run(cluster);
    // Three of the buckets are reduced before the pass ends. During a reduction of r seconds the
    // pass does only r / slowdown seconds of its work.
    const double lost = 3 * reduction(3e9) * (1 - 1 / slowdown);
    for (const std::uint32_t device : {0U, 1U})
      CHECK(last_pass(trace, device) == Approx(2 + lost).epsilon(1e-9));
  }
}

TEST_CASE("a device whose reductions never end computes slowly all the time", "[hybrid]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job job;
  job.set_parameters(40'000'000'000);  // four buckets, of 4 s each
  job.communication().bucket = 40'000'000'000;
  job.communication().overlap_slowdown = 1.6;
  const auto trace = job.run(cluster);
  for (const std::uint32_t device : {0U, 1U}) {
    CHECK(last_pass(trace, device) == Approx(0.5 + 1.5 * 1.6).epsilon(1e-9));
    const trace::StepRow& step = step_of(trace, device);
    CHECK(step.reduced - step.start == Approx(4 * reduction(40e9) - 1.5 * 1.6).epsilon(1e-9));
  }
}

TEST_CASE("the costs give a slowdown per stage unless the scenario gives one for all stages",
          "[hybrid]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job job;
  job.set_parameters(3'000'000'000);
  job.communication().bucket = 3'000'000'000;
  auto& slowdown_by_stage =
      job.costs.overlap_slowdown[static_cast<std::size_t>(schedules::PassKind::backward)];
  slowdown_by_stage = {1.25, 2};
  const double reduction_seconds = 3 * reduction(3e9);
  for (const auto engine : {execution::EngineKind::simgrid, execution::EngineKind::timing}) {
    const auto trace = job.run(cluster, engine);
    CHECK(last_pass(trace, 0) == Approx(2 + reduction_seconds * 0.2).epsilon(1e-9));
    CHECK(last_pass(trace, 1) == Approx(2 + reduction_seconds * 0.5).epsilon(1e-9));
  }
  job.communication().overlap_slowdown = 1;
  CHECK(last_pass(job.run(cluster), 1) == Approx(2).epsilon(1e-9));
}

TEST_CASE("weights gathered beside the first passes slow these down", "[hybrid]") {
  const auto cluster = tests::mesh_cluster(2);
  // One device has two replicas. Its weights of 2 bytes are gathered in two buckets, each in 0.4 s.
  tests::HybridJob job(schedules::make_schedule("1f1b", {.devices = 1, .microbatches = 2}),
                       {.dp = 2, .zero = 1});
  job.set_parameters(800'000'000);
  job.communication().bucket = 1'600'000'000;
  job.communication().overlap_slowdown = 2;
  const double part = tests::mesh_latency + 400e6 / tests::mesh_rate;
  for (const auto engine : {execution::EngineKind::simgrid, execution::EngineKind::timing}) {
    const auto trace = job.run(cluster, engine);
    REQUIRE(trace.passes.size() == 4);
    // The pass starts when the first bucket has been gathered. Beside the second one it runs at
    // half speed.
    CHECK(trace.passes[0].start == Approx(part).epsilon(1e-9));
    CHECK(trace.passes[0].end == Approx(part + 1 + part / 2).epsilon(1e-9));
  }
}

TEST_CASE("a pass without collectives beside it is not slowed down", "[hybrid]") {
  const auto cluster = tests::make_cluster({{2, 2}});
  Job job;
  job.set_parameters(1'000'000'000);
  job.communication().overlap_slowdown = 3;
  job.communication().overlap_grad_reduce = false;
  const auto trace = job.run(cluster);
  for (const trace::PassRow& row : trace.passes)
    CHECK(row.end - row.start ==
          Approx(row.kind == trace::PassKind::forward ? 1 : 2).epsilon(1e-12));
}
