#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/execution/exposed_time.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests collectives inside passes with fast and full detail, with simple numbers: F, I and W take
// one second each.

using namespace pipewright;
using config::Detail;
using schedules::PassKind;

namespace {

constexpr std::uint32_t microbatches = 8;

struct Job : tests::HybridJob {
  Job(const std::string& name, std::uint32_t devices, const tests::Layout& layout)
      : HybridJob(
            schedules::make_schedule(name, {.devices = devices, .microbatches = microbatches}),
            layout) {}

  void add_calls(const workload::Call& call) {
    for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_grad})
      add_call(kind, call);
  }
  trace::Trace run(cluster::Cluster& cluster, Detail detail) {
    communication().detail = detail;
    const workload::StageCosts before = costs;
    execution::add_exposed_time(cluster, job(cluster), costs);
    trace::Trace trace = HybridJob::run(cluster);
    costs = before;
    return trace;
  }
  double seconds(cluster::Cluster& cluster, Detail detail) {
    return tests::last_end(run(cluster, detail));
  }
};

// Returns the seconds of an all-reduce in a ring of two GPUs of a node.
double all_reduce(double bytes) { return 2 * tests::inside + bytes / tests::nvlink; }

void check_agree(Job& job, cluster::Cluster& cluster, double within) {
  const double fast = job.seconds(cluster, Detail::fast);
  const double full = job.seconds(cluster, Detail::full);
  CAPTURE(job.schedule.name, fast, full);
  CHECK(std::abs(full / fast - 1) < within);
}

}  // namespace

TEST_CASE("both passes of a fused pair run their collectives in full detail", "[in-passes]") {
  auto cluster = tests::make_cluster({{8}});
  for (const char* const name : {"dualpipe-v", "zb-v", "1f1b"}) {
    Job job(name, 4, {.tp = 2});
    const double bare = job.seconds(cluster, Detail::full);
    job.add_calls({.group = workload::Group::tp, .bytes = 10'000'000'000, .times = 4});
    check_agree(job, cluster, 1e-6);
    CHECK(job.seconds(cluster, Detail::full) > bare + microbatches * 4 * all_reduce(10e9));
    // The factor `overlap` shortens fused pairs in fast and in full detail.
    job.costs.times.overlap = 0.8;
    check_agree(job, cluster, 1e-6);
  }
}

TEST_CASE("fast and full detail agree without collectives inside passes", "[in-passes]") {
  auto cluster = tests::make_cluster({{2, 2, 2, 2}});
  for (const char* const name : {"1f1b", "zb-h1"})
    for (const std::uint32_t zero : {0U, 1U, 2U, 3U}) {
      Job job(name, 2, {.dp = 4, .zero = zero});
      job.set_parameters(4'000'000'000);
      job.communication().bucket = 1'600'000'000;
      CAPTURE(name, zero);
      const trace::Trace fast = job.run(cluster, Detail::fast);
      const trace::Trace full = job.run(cluster, Detail::full);
      CHECK(tests::last_end(full) == Approx(tests::last_end(fast)).epsilon(1e-12));
      REQUIRE(full.collectives.size() == fast.collectives.size());
      for (std::size_t i = 0; i < full.collectives.size(); ++i)
        CHECK(full.collectives[i].posted == Approx(fast.collectives[i].posted).margin(1e-9));
    }
}

TEST_CASE("gradients of W are reduced beside passes that communicate", "[in-passes]") {
  // F and I contain collectives and W does not. Gradients are complete after W, so they are reduced
  // beside later F and I.
  auto cluster = tests::make_cluster({{4, 4, 4, 4}});
  Job job("zb-h1", 2, {.tp = 2, .dp = 4});
  job.set_parameters(2'000'000'000);
  job.communication().bucket = 800'000'000;
  job.add_calls({.group = workload::Group::tp, .bytes = 5'000'000'000, .times = 4});
  check_agree(job, cluster, 0.002);
}

TEST_CASE("a hidden collective slows the compute beside it", "[in-passes]") {
  auto cluster = tests::make_cluster({{2}});
  constexpr double beside = 0.1;  // seconds of compute that can hide each of four calls
  for (const double slowdown : {1.0, 1.5})
    for (const double bytes : {5e9, 12e9, 20e9}) {
      Job job("1f1b", 1, {.tp = 2});
      job.communication().overlap_slowdown = slowdown;
      job.add_call(PassKind::forward, {.group = workload::Group::tp,
                                       .bytes = static_cast<std::uint64_t>(bytes),
                                       .times = 4,
                                       .overlappable_compute = 4 * beside});
      // While a collective runs beside compute, compute does only 1 / slowdown of its work.
      const double call = all_reduce(bytes);
      const double longer = std::max(call - beside, call * (1 - 1 / slowdown));
      for (const Detail detail : {Detail::fast, Detail::full})
        for (const trace::PassRow& row : job.run(cluster, detail).passes)
          if (row.kind == trace::PassKind::forward) {
            CAPTURE(slowdown, bytes, static_cast<int>(detail));
            CHECK(row.end - row.start == Approx(1 + 4 * longer).epsilon(1e-9));
          }
    }
}

TEST_CASE("collectives beside a pass slow its compute and not its collectives", "[in-passes]") {
  auto cluster = tests::make_cluster({{4, 4, 4, 4}});
  Job job("1f1b", 1, {.tp = 4, .dp = 4});
  job.communication().overlap_slowdown = 2;
  job.set_parameters(16'000'000'000);
  job.communication().bucket = 1'600'000'000;
  job.add_calls({.group = workload::Group::tp, .bytes = 5'000'000'000, .times = 8});
  check_agree(job, cluster, 0.005);
}

TEST_CASE("passes that dispatch to other replicas run at the pace of the slowest", "[in-passes]") {
  auto cluster = tests::make_cluster({{4, 4}});
  Job job("1f1b", 2, {.ep = 4, .dp = 4, .replicas_together = true});
  job.add_calls({.group = workload::Group::ep,
                 .collective = workload::Collective::all_to_all,
                 .bytes = 1'000'000,
                 .times = 16});
  const double even = job.seconds(cluster, Detail::fast);
  job.conditions.variation = {.jitter = 0.1};
  check_agree(job, cluster, 0.02);
  // The largest of four normally distributed values is on average 1.03 standard deviations above
  // their mean.
  CHECK(job.seconds(cluster, Detail::fast) > 1.07 * even);
}

TEST_CASE("in-switch reduction without such switches is an error", "[in-passes]") {
  auto cluster = tests::make_cluster({{2, 2}});
  Job job("1f1b", 2, {.dp = 2});
  job.communication().all_reduce = config::Algorithm::sharp;
  CHECK_THROWS_WITH(
      job.HybridJob::run(cluster),
      "communication.all_reduce is sharp, but no group of this job can be reduced by switches "
      "between nodes: that needs ranks on several nodes, the same number on each node, and a "
      "platform "
      "file with the property CLASS.sharp-efficiency; leave the key out, or use automatic");
  job.communication().all_reduce = config::Algorithm::nvls;
  CHECK_THROWS_WITH(job.HybridJob::run(cluster), Catch::Contains("switches inside nodes"));
}

TEST_CASE("a job whose groups can be reduced by switches uses them", "[in-passes]") {
  const auto cluster = tests::make_cluster({{2, 2}, 0, false, {{"nic.sharp-efficiency", "0.8"}}});
  Job job("1f1b", 2, {.dp = 2});
  job.communication().all_reduce = config::Algorithm::sharp;
  job.set_parameters(1'000'000);
  CHECK(tests::last_end(job.HybridJob::run(cluster)) > 0);
}

TEST_CASE("collectives of the optimizer's step lengthen it by what its compute does not hide",
          "[in-passes][muon]") {
  auto cluster = tests::make_cluster({{2}});
  for (const double beside : {0.0, 0.1}) {
    Job job("1f1b", 1, {.tp = 2});
    const trace::Trace bare = job.run(cluster, Detail::fast);
    job.costs.step_calls = {{{.group = workload::Group::tp,
                              .bytes = 10'000'000'000,
                              .times = 3,
                              .overlappable_compute = 3 * beside}}};
    CAPTURE(beside);
    CHECK(tests::last_end(job.run(cluster, Detail::fast)) ==
          Approx(tests::last_end(bare) + 3 * (all_reduce(10e9) - beside)));
  }
}
