#include <algorithm>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/execution/exposed_time.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/timing/engine.hpp"
#include "support/jobs.hpp"
#include "support/random.hpp"

// Tests expert dispatch beside the compute of fused pairs, with simple numbers: F, I and W take one
// second each. Runs both engines, with fast and full detail.

using namespace pipewright;
using config::Detail;
using execution::EngineKind;
using schedules::PassKind;

namespace {

// Returns an all-to-all between two ranks that takes `seconds`.
workload::Call dispatch(double seconds, std::uint32_t times = 1) {
  return {
      .group = workload::Group::ep,
      .collective = workload::Collective::all_to_all,
      .bytes = static_cast<std::uint64_t>(2 * tests::mesh_rate * (seconds - tests::mesh_latency)),
      .times = times};
}

struct Job : tests::HybridJob {
  explicit Job(const char* name, std::uint32_t devices = 1, std::uint32_t microbatches = 3)
      : HybridJob(schedules::make_schedule(
                      name, {.devices = devices, .microbatches = microbatches, .fused = 1}),
                  {.tp = 2, .folded = true}) {
    communication().overlap_grad_reduce = false;
    communication().global_norm = false;  // its latency would disturb the numbers
  }

  trace::Trace run(cluster::Cluster& cluster, Detail detail, EngineKind engine) {
    communication().detail = detail;
    const workload::StageCosts before = costs;
    execution::add_exposed_time(cluster, job(cluster), costs);
    trace::Trace trace = HybridJob::run(cluster, engine);
    costs = before;
    return trace;
  }
  // Returns the makespan, and checks that both engines and both levels of detail agree.
  double seconds(cluster::Cluster& cluster) {
    const double fast = tests::last_end(run(cluster, Detail::fast, EngineKind::simgrid));
    CHECK(tests::last_end(run(cluster, Detail::fast, EngineKind::timing)) ==
          Approx(fast).epsilon(1e-9));
    for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing})
      CHECK(tests::last_end(run(cluster, Detail::full, engine)) == Approx(fast).epsilon(1e-9));
    return fast;
  }
};

}  // namespace

TEST_CASE("the compute of a pair hides the dispatch of both passes, which a single pass cannot",
          "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  job.add_call(PassKind::forward, dispatch(0.125, 4));
  job.add_call(PassKind::backward, dispatch(0.25, 2));
  // The device runs F, then two fused pairs of F and B, then B.
  CHECK(job.seconds(cluster) == Approx(1.5 + 2 * 3 + 2.5));
  // For the one second of dispatch, compute is slowed down and does only 1 / 1.25 of its work.
  job.communication().overlap_slowdown = 1.25;
  CHECK(job.seconds(cluster) == Approx(1.5 + 2 * 3.2 + 2.5));
}

TEST_CASE("a pair with more dispatch than compute waits for it and for the longer chain",
          "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  job.add_call(PassKind::forward, dispatch(2));
  job.add_call(PassKind::backward, dispatch(1.25, 2));
  // A pair takes as long as its longest part: its compute takes 3 s and its dispatch 4.5 s, and the
  // steps of F take 3 s and those of B 4.5 s.
  CHECK(job.seconds(cluster) == Approx(3 + 2 * 4.5 + 4.5));
  job.add_call(PassKind::backward, dispatch(0.5));
  CHECK(job.seconds(cluster) == Approx(3 + 2 * 5 + 5));
  Job chain("1f1b");
  chain.add_call(PassKind::forward, dispatch(0.5));
  chain.add_call(PassKind::backward, dispatch(2.5));
  CHECK(chain.seconds(cluster) == Approx(1.5 + 2 * 4.5 + 4.5));
  chain.costs.weight_grads_apart = true;
  CHECK(chain.seconds(cluster) == Approx(1.5 + 2 * 3.5 + 4.5));
}

TEST_CASE("dispatch runs beside experts, and combine beside attention", "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  workload::Call combine = dispatch(0.25, 2);
  combine.combines = true;
  for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
    job.add_call(kind, dispatch(0.25, 2));
    job.add_call(kind, combine);
    job.costs.second_half[static_cast<int>(kind)] = {0.1};
  }
  job.costs.second_half[static_cast<int>(PassKind::weight_grad)] = {0.1};
  // Attention takes 0.9 and 1.8 s, which hides 1 s of dispatch. Experts take 0.1 and 0.2 s, which
  // does not.
  CHECK(job.seconds(cluster) == Approx(2 + 2 * (2.7 + 1) + 3));
  // With compute at half speed during dispatch, attention takes 0.5 s longer. Experts are not
  // slowed down, as they have no dispatch beside them.
  job.communication().overlap_slowdown = 2;
  CHECK(job.seconds(cluster) == Approx(2 + 2 * (2.7 + 0.5 + 1) + 3));
}

TEST_CASE("other collectives of a pair delay its kernels", "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  job.add_call(PassKind::forward, dispatch(0.5));
  workload::Call tp_call = dispatch(0.25, 2);
  tp_call.group = workload::Group::tp;
  job.add_call(PassKind::backward, tp_call);
  job.communication().overlap_slowdown = 1;
  CHECK(job.seconds(cluster) == Approx(1.5 + 2 * 3.5 + 2.5));
}

TEST_CASE("a pair whose time is given takes that time", "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  job.add_call(PassKind::forward, dispatch(0.5));
  job.costs.times.overlap = 0.8;
  CHECK(tests::last_end(job.run(cluster, Detail::fast, EngineKind::simgrid)) ==
        Approx(1.5 + 2 * 0.8 * 3.5 + 2));
  CHECK_THROWS_WITH(job.run(cluster, Detail::full, EngineKind::timing),
                    Catch::Contains("fused pairs whose time is given"));
}

TEST_CASE("pairs of interleaved schedules and DualPipe hide their dispatch in both engines",
          "[fused-pair]") {
  auto cluster = tests::mesh_cluster(8);
  for (const char* const name : {"interleaved-1f1b", "dualpipe-v", "dualpipe"})
    for (const double slowdown : {1.0, 1.3}) {
      Job job(name, 4, 8);
      job.communication().overlap_slowdown = slowdown;
      for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_grad})
        job.add_call(kind, dispatch(0.125, 3));
      CAPTURE(name, slowdown);
      const double overlapped = job.seconds(cluster);
      job.costs.times.overlap = 1;
      CHECK(overlapped < tests::last_end(job.run(cluster, Detail::fast, EngineKind::simgrid)) - 1);
    }
}

TEST_CASE("the time of a pair beyond its compute is exposed", "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  job.add_call(PassKind::forward, dispatch(1.5));
  job.add_call(PassKind::backward, dispatch(2));
  for (const Detail detail : {Detail::fast, Detail::full}) {
    const trace::Trace trace = job.run(cluster, detail, EngineKind::simgrid);
    const trace::StageRow& stage = trace.stages.at(0);
    CHECK(stage.waits_f == Approx(1.5));
    CHECK(stage.waits_paired_f == Approx(0.5));  // half of 4 - 3
    CHECK(stage.waits_paired_b == Approx(0.5));
    CHECK(analysis::summarize(trace).devices.at(0).parts.in_passes == Approx(1.5 + 2 * 1 + 2));
  }
}

TEST_CASE("the launches of both passes of a pair are consecutive", "[fused-pair]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  job.add_call(PassKind::forward, dispatch(0.5));
  job.costs.host_waits[static_cast<int>(PassKind::forward)] = {0.75};
  job.costs.times[PassKind::forward] = {1.75};
  // A single F takes as long as its launches. In a pair, launches take 1.75 s for F and 2 s for B.
  CHECK(job.seconds(cluster) == Approx(1.75 + 2 * 3.75 + 2));
}

TEST_CASE("the lower bound of a job with pairs does not exceed its simulation", "[fused-pair]") {
  auto cluster = tests::mesh_cluster(8);
  tests::Random random(3);
  for (int round = 0; round < 40; ++round) {
    Job job(random.flip() ? "interleaved-1f1b" : "dualpipe-v", 4, 8);
    for (auto& times_by_stage : job.costs.times.of_stage)
      for (double& seconds : times_by_stage) seconds = random.real(0.5, 2);
    if (random.flip()) job.communication().overlap_slowdown = random.real(1, 1.4);
    job.communication().detail = random.flip() ? Detail::full : Detail::fast;
    job.costs.weight_grads_apart = random.flip();
    for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_grad})
      for (const auto group : {workload::Group::tp, workload::Group::ep})
        if (random.flip()) {
          workload::Call call = dispatch(random.real(0.01, 1), random.whole(1, 3));
          call.group = group;
          if (random.flip()) call.overlappable_compute = random.real(0, 1);
          job.add_call(kind, call);
        }
    execution::add_exposed_time(cluster, job.job(cluster), job.costs);
    CAPTURE(round, job.schedule.name);
    CHECK(execution::lower_bound(job.job(cluster)) <=
          tests::last_end(job.HybridJob::run(cluster)) * (1 + 1e-9));
  }
}
