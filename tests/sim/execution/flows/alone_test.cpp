#include "sim/execution/flows/alone.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;

namespace {

std::vector<double> seconds_alone(const RankPlacement& placement,
                                  const std::vector<std::vector<Phase>>& plans) {
  std::vector<std::shared_ptr<const execution::TransferPlan>> transfer_plans;
  for (const std::vector<Phase>& phases : plans)
    transfer_plans.push_back(execution::make_transfer_plan(phases, placement));
  return execution::seconds_alone(transfer_plans);
}

}  // namespace

TEST_CASE("a flow that ends leaves its share of links to other flows", "[collectives]") {
  const auto cluster = make_cluster({{1, 1, 1, 1}});
  const RankPlacement placement(cluster, cluster.gpus());
  // All flows leave by the 10 GB/s NIC of rank 0. 1 GB at a third of the rate is through after 0.3
  // s, when the others have 1 GB and 2 GB left at 5 GB/s; the last flow has the NIC to itself from
  // 0.5 s on.
  const auto seconds = seconds_alone(placement, {{{.flows = {{0, 1, 1e9}}, .latency = 0}},
                                                 {{.flows = {{0, 2, 2e9}}, .latency = 0}},
                                                 {{.flows = {{0, 3, 3e9}}, .latency = 0.25}}});
  CHECK(seconds[0] == Approx(0.3).epsilon(1e-12));
  CHECK(seconds[1] == Approx(0.5).epsilon(1e-12));
  CHECK(seconds[2] == Approx(0.6 + 0.25).epsilon(1e-12));
  CHECK(seconds_alone(placement, {{}, {{.flows = {}, .latency = 0.5}}}) ==
        std::vector<double>{0, 0.5});
}

TEST_CASE("plans take as long as in SimGrid", "[collectives]") {
  const auto cluster = make_cluster({.gpus = {4, 3, 4, 1, 2}, .uplink = 15});
  const RankPlacement placement(cluster, cluster.gpus());
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 generator(seed);
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    std::vector<std::vector<Phase>> plans(1 + random() % 6);
    for (std::vector<Phase>& phases : plans) {
      phases.resize(1 + random() % 4);
      for (Phase& phase : phases) {
        phase.latency = random() % 3 == 0 ? 0 : 1e-3 * static_cast<double>(random() % 10);
        for (unsigned flow = random() % 8; flow > 0; --flow) {
          const std::uint32_t from = random() % placement.size();
          const std::uint32_t to =
              (from + 1 + random() % (placement.size() - 1)) % placement.size();
          phase.flows.push_back({from, to, 1e6 * static_cast<double>(1 + random() % 100)});
        }
      }
    }
    const std::vector<double> own_seconds = seconds_alone(placement, plans);
    const std::vector<double> simgrid_seconds = simulate_all(placement, plans);
    for (std::size_t i = 0; i < plans.size(); ++i)
      CHECK(own_seconds[i] == Approx(simgrid_seconds[i]).epsilon(1e-9));
  }
}
