#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/execution/simgrid/wiring.hpp"
#include "support/jobs.hpp"
#include "support/random.hpp"
#include "tests/sim/config/support.hpp"

// Tests the kinds of replicas that are at the same place of their schedule at all times. A large
// run in full simulates one replica of each kind; `reduce_from` makes a small one do so as well.

using namespace pipewright;
using execution::FoldedLinks;

namespace {

// Passes on all rows but the use of links, so that a run may leave out links that never limit a
// rate.
class RowsWithoutLinks final : public trace::Sink {
 public:
  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override {
    rows.begin(run, devices, stages);
  }
  void pass(const trace::PassRow& row) override { rows.pass(row); }
  void transfer(const trace::TransferRow& row) override { rows.transfer(row); }
  void memory(const trace::MemoryRow& row) override { rows.memory(row); }
  void collective(const trace::CollectiveRow& row) override { rows.collective(row); }
  void step(const trace::StepRow& row) override { rows.step(row); }
  void wait(const trace::WaitRow& row) override { rows.wait(row); }
  void finish() override {}

  trace::TraceCollector rows;
};

constexpr std::size_t any_number = std::numeric_limits<std::uint32_t>::max();

cluster::Cluster make(const cluster::PlatformRequest& request) {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write("cluster.xml", cluster::make_platform(request)));
}

cluster::PlatformRequest dgx(std::uint32_t nodes, const std::string& fabric) {
  return {.nodes = {{&cluster::find_node_kind("dgx-h100"), nodes}}, .fabric = fabric};
}

struct Job : tests::HybridJob {
  Job(const std::string& name, std::uint32_t devices, const tests::Layout& layout)
      : HybridJob(schedules::make_schedule(name, {.devices = devices, .microbatches = 4}), layout) {
    set_parameters(50'000'000);
    communication().bucket = 50'000'000;
    costs.boundary_bytes = 200'000'000;
    for (auto& times_by_stage : costs.times.of_stage)
      for (double& seconds : times_by_stage) seconds /= 50;
  }
  std::size_t kinds(const cluster::Cluster& cluster, std::size_t most = any_number,
                    FoldedLinks links = FoldedLinks::shared) const {
    const execution::Job run_job = job(cluster);
    const auto kinds = execution::Wiring::find_alike(
        run_job, execution::RankPlacement(cluster, run_job.hosts), most, links);
    return kinds ? kinds->simulated.size() : 0;
  }
  trace::Trace run_from(std::size_t copies, const cluster::Cluster& cluster,
                        FoldedLinks links = FoldedLinks::shared) const {
    trace::TraceCollector with_links;
    RowsWithoutLinks without_links;
    execution::Job run_job = job(cluster);
    run_job.reduce_from = copies;
    const bool reports_links = links == FoldedLinks::shared;
    execution::run(run_job, execution::EngineKind::simgrid, {},
                   reports_links ? static_cast<trace::Sink&>(with_links) : without_links);
    return std::move(reports_links ? with_links.trace : without_links.rows.trace);
  }
};

}  // namespace

TEST_CASE("replicas are alike if messages and collectives cross equivalent links", "[alike]") {
  // Leaves of two nodes; a node holds the tensor-parallel ranks of a device. The ring of gradients
  // leaves the leaf after every second replica, and enters it before.
  cluster::PlatformRequest request = dgx(16, "leaf-spine");
  request.leaf_nodes = 2;
  const cluster::Cluster cluster = make(request);
  const Job job("1f1b", 2, {.tp = 8, .dp = 8, .replicas_together = true});
  CHECK(job.kinds(cluster) == 2);
  CHECK(job.kinds(cluster, 1) == 0);  // more kinds than asked for
}

TEST_CASE("replicas in the middle of a leaf are alike if its uplink never limits a rate",
          "[alike]") {
  // Five replicas of a node each and leaves of four nodes: device 1 begins in the middle of a leaf.
  cluster::PlatformRequest request = dgx(12, "leaf-spine");
  request.leaf_nodes = 4;
  const Job job("1f1b", 2, {.tp = 8, .dp = 5, .replicas_together = true});
  CHECK(job.kinds(make(request), any_number, FoldedLinks::shared) > 2);
  CHECK(job.kinds(make(request), any_number, FoldedLinks::limiting) == 1);
  request.oversubscription = 2;
  CHECK(job.kinds(make(request), any_number, FoldedLinks::limiting) > 2);
}

TEST_CASE("a slow link makes its replica a kind of its own", "[alike]") {
  cluster::PlatformRequest request = dgx(16, "rail");
  request.leaf_nodes = 16;
  cluster::Cluster cluster = make(request);
  const Job job("1f1b", 2, {.tp = 8, .dp = 8, .replicas_together = true});
  CHECK(job.kinds(cluster) == 1);
  cluster.scale_link("node-3-nic-0", 0.5);
  CHECK(job.kinds(cluster) > 1);
}

TEST_CASE("a run of one replica of each kind equals the run of all replicas", "[alike]") {
  tests::Random random(40);
  std::vector<cluster::Cluster> clusters;
  for (const char* fabric : {"leaf-spine", "rail", "fat-tree"})
    for (const double oversubscription : {1.0, 2.0}) {
      cluster::PlatformRequest request = dgx(12, fabric);
      request.leaf_nodes = 3;
      request.oversubscription = oversubscription;
      if (request.fabric == "fat-tree") request.pod_leaves = 2;
      clusters.push_back(make(request));
    }
  const std::vector<std::string> schedules{"1f1b", "gpipe", "zb-h1"};
  int reduced = 0;
  for (int round = 0; round < 96; ++round) {
    const std::uint32_t devices = 1U << random.whole(1, 2);
    const std::uint32_t tp = 1U << random.whole(0, 3);
    const std::uint32_t ep = random.flip() ? 1 : 2;
    const std::uint32_t most = 96 / devices / tp;
    tests::Layout layout{.tp = tp,
                         .ep = ep,
                         .dp = ep * std::max(1U, random.whole(2, std::min(12U, most)) / ep),
                         .zero = random.whole(0, 3),
                         .replicas_together = ep > 1 || random.flip()};
    if (devices * tp * layout.dp > 96) continue;
    Job job(schedules[random.whole(0, 2)], devices, layout);
    job.communication().detail = random.flip() ? config::Detail::full : config::Detail::fast;
    if (layout.ep > 1)
      job.add_call(schedules::PassKind::forward, {.group = workload::Group::ep,
                                                  .collective = workload::Collective::all_to_all,
                                                  .bytes = 20'000'000});
    const cluster::Cluster& cluster = clusters[random.whole(0, 5)];
    const FoldedLinks links = random.flip() ? FoldedLinks::shared : FoldedLinks::limiting;
    const std::size_t kinds = job.kinds(cluster, any_number, links);
    const trace::Trace full = job.run_from(any_number, cluster);
    const trace::Trace by_kinds = job.run_from(0, cluster, links);
    CAPTURE(round, devices, tp, ep, layout.dp, layout.zero, layout.replicas_together, kinds, links);
    REQUIRE(full.passes.size() == by_kinds.passes.size());
    for (std::size_t i = 0; i < full.passes.size(); ++i)
      REQUIRE(by_kinds.passes[i].end == Approx(full.passes[i].end).epsilon(1e-9));
    CHECK(tests::last_end(by_kinds) == Approx(tests::last_end(full)).epsilon(1e-9));
    REQUIRE(full.waits.size() == by_kinds.waits.size());
    reduced += kinds > 0 && 2 * kinds <= job.ranks.replicas() ? 1 : 0;
  }
  CHECK(reduced > 24);
}
