#include <algorithm>
#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "schedules/catalog.hpp"
#include "sim/execution/wiring.hpp"
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
  std::uint64_t flows(const cluster::Cluster& cluster) const {
    const execution::Job made = job(cluster);
    const execution::Places places(cluster, made.hosts);
    const execution::Copies copies(made);
    return execution::Wiring(made, places, copies).flows();
  }
};

// The lanes of each device in another order of the same node's GPUs.
std::vector<std::string> shuffled(const Job& job, const cluster::Cluster& cluster,
                                  std::uint32_t seed) {
  std::vector<std::string> names;
  for (const cluster::Host* host : cluster.place({}, job.ranks.size()))
    names.push_back(cluster::name_of(host));
  std::mt19937 random(seed);
  const std::uint32_t lanes = job.ranks.lanes();
  for (std::size_t first = 0; first < names.size(); first += lanes)
    std::shuffle(names.begin() + static_cast<std::ptrdiff_t>(first),
                 names.begin() + static_cast<std::ptrdiff_t>(first + lanes), random);
  return names;
}

}  // namespace

TEST_CASE("folded lanes take as long as one lane with a share of the uplinks", "[lanes]") {
  // Four lanes over an uplink of 20 GB/s, 5 GB/s each: a transfer of 0.4 GB takes 80 ms.
  const auto cluster = tests::make_cluster({.gpus = {4, 4}, .uplink = 20});
  Job job({.tp = 4});
  for (auto& of_stage : job.costs.times.of_stage)
    for (double& seconds : of_stage) seconds = 1;  // never two transfers at once
  CHECK(job.flows(cluster) == 2);                  // there and back
  for (const trace::TransferRow& row : job.run(cluster).transfers) {
    CHECK(row.bytes == 1'600'000'000);
    CHECK(row.end - row.start == Approx(0.08 + 5e-6).epsilon(1e-6));
  }
}

TEST_CASE("lanes that cannot fold take the same time where they are alike", "[lanes]") {
  // Every GPU has a NIC of its own and the uplink is wide: whoever a lane's partner is, its flows
  // have the same bandwidth, but crossed lanes make rings that are not each other's image.
  const auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  for (const bool together : {true, false}) {
    Job job({.tp = 4, .dp = 2, .replicas_together = together});
    const double folded = tests::last_end(job.run(cluster));
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      job.placement = shuffled(job, cluster, seed);
      CHECK(tests::last_end(job.run(cluster)) == Approx(folded).epsilon(1e-9));
    }
  }
}

TEST_CASE("folding neither loses nor makes bytes", "[lanes]") {
  tests::watch_links();
  const auto cluster = tests::make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  for (const bool together : {true, false}) {
    Job job({.tp = 4, .dp = 2, .replicas_together = together});
    CAPTURE(together);
    // 0.4 GB a lane and microbatch there and back, and two all-reduces of 0.2 GB between two.
    const double hops = 4 * 4 * 0.4e9;
    const double reductions = 4 * 0.2e9;
    const auto carried = tests::link_bytes(job, cluster);
    double uplinks = 0;
    for (int node = 0; node < 4; ++node) uplinks += carried.at(fmt::format("uplink-{}_UP", node));
    CHECK(uplinks > 0);
    // A link that stands for others carries what it would; those it stands for carry nothing.
    for (int node = 0; node < 4; ++node) {
      const double bytes = carried.at(fmt::format("uplink-{}_UP", node));
      if (bytes > 0) CHECK(bytes == Approx(hops + reductions).epsilon(1e-6));
    }
  }
}
