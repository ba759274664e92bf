#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/execution/exposed_time.hpp"
#include "sim/execution/pass_work.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"
#include "tests/sim/execution/random_jobs.hpp"

// Tests kernels that the host launches ahead of the GPU: a pass takes either the time of its work
// on the GPU, including collectives, or the time of all its launches, whichever is longer.

using namespace pipewright;
using config::Detail;
using execution::EngineKind;
using schedules::PassKind;

namespace {

// Keeps the passes' kernel times and makes the launches of each pass take `host` seconds.
void set_host(workload::StageCosts& costs, double host) {
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    auto& waits = costs.host_waits[kind];
    waits.clear();
    for (double& seconds : costs.times.of_stage[kind]) {
      waits.push_back(std::max(0.0, host - seconds));
      seconds += waits.back();
    }
  }
}

trace::Trace run(tests::HybridJob& job, cluster::Cluster& cluster, double host, EngineKind engine) {
  const workload::StageCosts before = job.costs;
  set_host(job.costs, host);
  execution::add_exposed_time(cluster, job.job(cluster), job.costs);
  trace::Trace trace = job.run(cluster, engine);
  job.costs = before;
  return trace;
}

// Adds random collectives, some of which can run beside kernels.
void add_calls(tests::HybridJob& job, tests::Random& random) {
  for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_grad})
    for (std::uint32_t count = random.whole(0, 2); count > 0; --count)
      job.add_call(kind, {.group = workload::Group::tp,
                          .bytes = random.whole(1, 4) * 1'000'000,
                          .times = random.whole(1, 3),
                          .overlappable_compute = random.flip() ? random.real(0, 6e-3) : 0});
  if (random.flip())
    for (auto& slowdown_by_stage : job.costs.overlap_slowdown)
      slowdown_by_stage = random.reals(job.schedule.stages(), 1, 1.6);
}

}  // namespace

TEST_CASE("a pass takes the longer of its GPU and its host", "[host]") {
  auto cluster = tests::make_cluster({{2}});
  tests::HybridJob job(schedules::make_schedule("1f1b", {.devices = 1, .microbatches = 2}),
                       {.tp = 2});
  // A pass has kernels of 1 s and two collectives, of which each can run beside 0.1 s of the
  // kernels.
  constexpr std::uint64_t bytes = 20'000'000'000;
  const double call = 2 * tests::inside + bytes / tests::nvlink;
  job.add_call(
      PassKind::forward,
      {.group = workload::Group::tp, .bytes = bytes, .times = 2, .overlappable_compute = 2 * 0.1});
  job.communication().overlap_slowdown = 1;
  const double busy = 1 + 2 * (call - 0.1);
  for (const Detail detail : {Detail::fast, Detail::full})
    for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing})
      for (const double host : {0.0, 0.9, 1.1, busy - 0.01, busy + 0.2, 4.0}) {
        CAPTURE(static_cast<int>(detail), static_cast<int>(engine), host);
        job.communication().detail = detail;
        for (const trace::PassRow& row : run(job, cluster, host, engine).passes)
          CHECK(row.end - row.start ==
                Approx(std::max(row.kind == trace::PassKind::forward ? busy : 2, host))
                    .epsilon(1e-9));
      }
}

TEST_CASE("slower kernels do not matter to a pass that waits for its host", "[host]") {
  auto cluster = tests::make_cluster({{2}});
  tests::HybridJob job(schedules::make_schedule("1f1b", {.devices = 1, .microbatches = 1}),
                       {.tp = 2});
  const auto job_with_host = [&](double host) {
    set_host(job.costs, host);
    job.communication().overlap_slowdown = 1.5;
    return job.job(cluster);
  };
  const workload::StageCosts before = job.costs;
  const auto slowed = [&](double host) {
    job.costs = before;
    const execution::Job slowed_job = job_with_host(host);
    const auto work = execution::work_of(slowed_job, execution::ReplicaGroups(slowed_job), {0, 0},
                                         {PassKind::forward, 0, 0}, nullptr);
    return work.seconds * (1 + work.excess);
  };
  CHECK(slowed(0) == Approx(1.5));
  CHECK(slowed(1.2) == Approx(1.5));
  CHECK(slowed(1.7) == Approx(1.7));
}

TEST_CASE("no job ends earlier with a slower host", "[host]") {
  auto cluster = tests::mesh_cluster(16);
  int checked = 0;
  const auto check = [&](tests::HybridJob& job, tests::Random& random) {
    add_calls(job, random);
    for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
      const bool full = engine == EngineKind::simgrid && random.flip();
      job.communication().detail = full ? Detail::full : Detail::fast;
      double previous = 0;
      for (const double host : {0.0, 4e-3, 8e-3, 16e-3}) {
        CAPTURE(tests::describe(job), static_cast<int>(engine), host);
        const double seconds = tests::last_end(run(job, cluster, host, engine));
        CHECK(seconds >= previous * (1 - 1e-9));
        previous = seconds;
      }
      ++checked;
    }
  };
  tests::for_random_jobs(61, 2, {}, check);
  CHECK(checked > 40);
}
