#include <map>

#include <catch2/catch.hpp>

#include "schedules/families/catalog.hpp"
#include "sim/execution/simgrid/wiring.hpp"
#include "support/jobs.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests folding: lanes of a device whose placements are equivalent are simulated as one flow.

using namespace pipewright;

namespace {

struct Job : tests::HybridJob {
  explicit Job(const tests::Layout& layout)
      : HybridJob(schedules::make_schedule("1f1b", {.devices = 2, .microbatches = 4}), layout) {
    set_parameters(50'000'000);
    communication().bucket = 50'000'000;
    costs.boundary_bytes = 400'000'000;
    for (auto& times_by_stage : costs.times.of_stage)
      for (double& seconds : times_by_stage) seconds /= 20;
  }
  // Makes passes so long that no two transfers overlap.
  void set_long_passes() {
    for (auto& times_by_stage : costs.times.of_stage)
      for (double& seconds : times_by_stage) seconds = 1;
  }
  std::uint64_t flows(const cluster::Cluster& cluster) const {
    const execution::Job run_job = job(cluster);
    const execution::RankPlacement rank_placement(cluster, run_job.hosts);
    const auto kinds = execution::find_replica_kinds(run_job, rank_placement);
    const execution::ReplicaGroups replica_groups(run_job, kinds.simulated);
    return execution::Wiring(run_job, rank_placement, kinds, replica_groups,
                             execution::FoldedLinks::shared)
        .flows();
  }
};

}  // namespace

TEST_CASE("folded ranks take as long as one rank with its share of the uplinks", "[fold]") {
  // Four ranks share an uplink of 20 GB/s, so that each gets 5 GB/s and a transfer of 0.4 GB takes
  // 80 ms.
  const auto cluster = tests::make_cluster({.gpus = {4, 4}, .uplink = 20});
  Job job({.tp = 4});
  job.set_long_passes();
  CHECK(job.flows(cluster) == 2);  // one in each direction
  for (const trace::TransferRow& row : job.run(cluster).transfers) {
    CHECK(row.bytes == 1'600'000'000);
    CHECK(row.end - row.start == Approx(0.08 + 5e-6).epsilon(1e-6));
  }
}

TEST_CASE("folding ranks changes no durations", "[fold]") {
  auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  struct Result {
    std::uint64_t flows;
    double end;
  };
  std::vector<Result> folded;
  for (const bool is_distinct : {false, true}) {
    if (is_distinct) tests::make_nics_distinct(cluster, 4, 4);
    std::size_t index = 0;
    for (const bool replicas_together : {true, false})
      for (const std::uint32_t zero : {0U, 1U, 3U}) {
        Job job({.tp = 4, .dp = 2, .zero = zero, .replicas_together = replicas_together});
        const Result result{job.flows(cluster), tests::last_end(job.run(cluster))};
        if (!is_distinct) {
          folded.push_back(result);
          continue;
        }
        const Result& folded_result = folded[index++];
        CAPTURE(replicas_together, zero);
        CHECK(result.flows >= 4 * folded_result.flows);
        CHECK(result.end == Approx(folded_result.end).epsilon(1e-9));
      }
  }
}

TEST_CASE("folding keeps the number of bytes", "[fold]") {
  tests::watch_links();
  auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  for (const bool is_distinct : {false, true}) {
    if (is_distinct) tests::make_nics_distinct(cluster, 4, 4);
    for (const bool replicas_together : {true, false})
      for (const bool reduces : {true, false}) {
        Job job({.tp = 4, .dp = 2, .replicas_together = replicas_together});
        // Over the job, each rank sends 0.4 GB four times in each direction of the pipeline, or 0.2
        // GB of gradients to another rank.
        const double expected = reduces ? 0.2e9 : 4 * 0.4e9;
        if (reduces) job.costs.boundary_bytes = 0;
        if (!reduces) job.set_parameters(0);
        job.set_long_passes();
        CAPTURE(is_distinct, replicas_together, reduces);
        int busy = 0;
        for (const auto& [link, bytes] : tests::link_bytes(job, cluster)) {
          if (bytes == 0) continue;
          CAPTURE(link);
          CHECK(bytes ==
                Approx(link.rfind("uplink", 0) == 0 ? 4 * expected : expected).epsilon(1e-6));
          ++busy;
        }
        // Of equivalent links, only those of the representative carry bytes. In a ring of two, both
        // directions are equivalent even if no two ranks are.
        CHECK(busy >= (is_distinct ? 4 * 4 : 2));
        if (!is_distinct) CHECK(busy <= 4 * (1 + 1) * 2);
      }
  }
}
