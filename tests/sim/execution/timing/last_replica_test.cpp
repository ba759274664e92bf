#include <algorithm>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "sim/execution/random_jobs.hpp"
#include "support/jobs.hpp"

// Tests that a run ends with the last step of all replicas, whichever replica a trace describes.

using namespace pipewright;
using execution::EngineKind;

namespace {

trace::Trace run(const tests::HybridJob& job, const cluster::Cluster& cluster, EngineKind engine,
                 std::uint32_t reported) {
  execution::Job reporting = job.job(cluster);
  reporting.reported_replica = reported;
  trace::TraceCollector rows;
  execution::run(reporting, engine, {}, rows);
  return std::move(rows.trace);
}

void slow_down(tests::HybridJob& job, std::uint32_t replica, std::uint32_t device, double factor) {
  job.slowdown.assign(std::size_t{job.ranks.replicas()} * job.schedule.devices, 1);
  job.slowdown[std::size_t{replica} * job.schedule.devices + device] = factor;
}

// Nothing contends on a mesh, so that all replicas are alike but for the slow device.
void for_jobs_with_replicas(const std::function<void(tests::HybridJob&, tests::Random&)>& use) {
  int count = 0;
  tests::for_random_jobs(417, 3, {.zeros = {0, 1}, .max_iterations = 2, .tensor_parallel = false},
                         [&](tests::HybridJob& job, tests::Random& random) {
                           const bool is_supported =
                               job.ranks.replicas() > 1 &&
                               (job.schedule.iterations == 1 || job.schedule.weight_versions == 1);
                           if (!is_supported) return;
                           job.communication().global_norm = true;
                           job.conditions.by_layer = false;
                           use(job, random);
                           ++count;
                         });
  CHECK(count > 30);
}

}  // namespace

TEST_CASE("a slow device takes as long in any replica", "[hybrid]") {
  const auto cluster = tests::mesh_cluster(16);
  for_jobs_with_replicas([&](tests::HybridJob& job, tests::Random& random) {
    const std::uint32_t device = random.whole(0, job.schedule.devices - 1);
    const double factor = random.real(1.1, 2);
    slow_down(job, 0, device, factor);
    const double expected =
        analysis::summarize(run(job, cluster, EngineKind::timing, 0)).makespan_s;
    const std::uint32_t replica = random.whole(1, job.ranks.replicas() - 1);
    slow_down(job, replica, device, factor);
    CAPTURE(tests::describe(job), device, replica, factor);
    for (const EngineKind engine : {EngineKind::timing, EngineKind::simgrid}) {
      const trace::Trace trace = run(job, cluster, engine, 0);
      CHECK(analysis::summarize(trace).makespan_s == Approx(expected).epsilon(1e-9));
      CHECK(tests::last_end(trace) <= expected * (1 + 1e-9));
    }
  });
}

TEST_CASE("traces of all replicas of a run have the same makespan", "[hybrid]") {
  const auto cluster = tests::mesh_cluster(16);
  for_jobs_with_replicas([&](tests::HybridJob& job, tests::Random& random) {
    slow_down(job, random.whole(0, job.ranks.replicas() - 1),
              random.whole(0, job.schedule.devices - 1), random.real(1.1, 2));
    CAPTURE(tests::describe(job));
    for (const EngineKind engine : {EngineKind::timing, EngineKind::simgrid}) {
      const double expected = analysis::summarize(run(job, cluster, engine, 0)).makespan_s;
      double last = 0;
      for (std::uint32_t replica = 0; replica < job.ranks.replicas(); ++replica) {
        const trace::Trace trace = run(job, cluster, engine, replica);
        last = std::max(last, tests::last_end(trace));
        CHECK(analysis::summarize(trace).makespan_s == Approx(expected).epsilon(1e-9));
        for (const trace::WaitRow& row : trace.waits) CHECK(row.replica != replica);
      }
      CHECK(last == Approx(expected).epsilon(1e-9));
    }
  });
}

TEST_CASE("a slow device is the last one at the norm and at the end", "[hybrid]") {
  const auto cluster = tests::mesh_cluster(16);
  tests::HybridJob job(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 4}),
                       {.dp = 4});
  job.costs.optimizer_seconds.assign(2, 0.5);
  job.communication().global_norm = true;
  // Twice as slow in the forward and backward passes and in the step.
  slow_down(job, 3, 0, 2);
  for (const EngineKind engine : {EngineKind::timing, EngineKind::simgrid}) {
    const trace::Trace trace = run(job, cluster, engine, 0);
    const auto end = std::ranges::find(trace.waits, trace::WaitEvent::end, &trace::WaitRow::event);
    REQUIRE(end != trace.waits.end());
    CHECK(end->replica == 3);
    CHECK(end->device == 0);
    CHECK(end->time == Approx(tests::last_end(trace) + 0.5));
    const auto reduction =
        std::ranges::find(trace.waits, trace::WaitEvent::reduce_gradients, &trace::WaitRow::event);
    REQUIRE(reduction != trace.waits.end());
    CHECK(reduction->replica == 3);
  }
}
