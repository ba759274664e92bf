#include <map>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/execution/simgrid/wiring.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Lanes of a device that are placed alike have one flow for all of them.

using namespace pipewright;

namespace {

struct Job : tests::HybridJob {
  explicit Job(const tests::Layout& layout)
      : HybridJob(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 4}), layout) {
    set_parameters(50'000'000);
    communication().bucket = 50'000'000;
    costs.boundary_bytes = 400'000'000;
    for (auto& of_stage : costs.times.of_stage)
      for (double& seconds : of_stage) seconds /= 20;
  }
  // Passes so long that there are never two transfers at once.
  void take_a_second() {
    for (auto& of_stage : costs.times.of_stage)
      for (double& seconds : of_stage) seconds = 1;
  }
  std::uint64_t flows(const cluster::Cluster& cluster) const {
    const execution::Job made = job(cluster);
    const execution::RankPlacement of_ranks(cluster, made.hosts);
    const execution::ReplicaGroups replica_groups(made);
    return execution::Wiring(made, of_ranks, replica_groups).flows();
  }
};

}  // namespace

TEST_CASE("folded ranks take as long as one rank with a share of the uplinks", "[fold]") {
  // Four ranks over an uplink of 20 GB/s, 5 GB/s each: a transfer of 0.4 GB takes 80 ms.
  const auto cluster = tests::make_cluster({.gpus = {4, 4}, .uplink = 20});
  Job job({.tp = 4});
  job.take_a_second();
  CHECK(job.flows(cluster) == 2);  // there and back
  for (const trace::TransferRow& row : job.run(cluster).transfers) {
    CHECK(row.bytes == 1'600'000'000);
    CHECK(row.end - row.start == Approx(0.08 + 5e-6).epsilon(1e-6));
  }
}

TEST_CASE("folding changes no time", "[fold]") {
  auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  struct Result {
    std::uint64_t flows;
    double end;
  };
  std::vector<Result> folded;
  for (const bool unlike : {false, true}) {
    if (unlike) tests::tell_apart(cluster, 4, 4);
    std::size_t index = 0;
    for (const bool together : {true, false})
      for (const std::uint32_t zero : {0U, 1U, 3U}) {
        Job job({.tp = 4, .dp = 2, .zero = zero, .replicas_together = together});
        const Result result{job.flows(cluster), tests::last_end(job.run(cluster))};
        if (!unlike) {
          folded.push_back(result);
          continue;
        }
        const Result& other = folded[index++];
        CAPTURE(together, zero);
        CHECK(result.flows >= 4 * other.flows);
        CHECK(result.end == Approx(other.end).epsilon(1e-9));
      }
  }
}

TEST_CASE("folding neither loses nor makes bytes", "[fold]") {
  tests::watch_links();
  auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  for (const bool unlike : {false, true}) {
    if (unlike) tests::tell_apart(cluster, 4, 4);
    for (const bool together : {true, false})
      for (const bool reduces : {true, false}) {
        Job job({.tp = 4, .dp = 2, .replicas_together = together});
        // Each rank hands on 0.4 GB four times, there or back, or reduces 0.2 GB with another.
        const double due = reduces ? 0.2e9 : 4 * 0.4e9;
        if (reduces) job.costs.boundary_bytes = 0;
        if (!reduces) job.set_parameters(0);
        job.take_a_second();
        CAPTURE(unlike, together, reduces);
        int busy = 0;
        for (const auto& [link, bytes] : tests::link_bytes(job, cluster)) {
          if (bytes == 0) continue;
          CAPTURE(link);
          CHECK(bytes == Approx(link.rfind("uplink", 0) == 0 ? 4 * due : due).epsilon(1e-6));
          ++busy;
        }
        // Links that others stand for carry nothing. The two ways round a ring of two are alike
        // even where no two ranks are.
        CHECK(busy >= (unlike ? 4 * 4 : 2));
        if (!unlike) CHECK(busy <= 4 * (1 + 1) * 2);
      }
  }
}
