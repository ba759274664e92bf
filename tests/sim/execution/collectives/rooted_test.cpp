#include <catch2/catch.hpp>

#include "sim/execution/exposed_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests collectives with a root, and all-to-alls with unequal parts, against values computed by
// hand.

using namespace pipewright;
using namespace pipewright::tests;

namespace {

double seconds(cluster::Cluster& cluster, const workload::Operation& kind, double bytes,
               const Members& members, Algorithm algorithm = Algorithm::automatic) {
  const RankPlacement placement(cluster, cluster.gpus());
  return execution::simulate_alone(cluster, placement,
                                   {{execution::plan(kind, bytes, members, algorithm, placement)}})
      .front();
}

workload::Operation unequal_all_to_all(std::vector<double> bytes, double size) {
  workload::Operation operation = Collective::all_to_all;
  for (double& part : bytes) part /= size;
  operation.parts = std::move(bytes);
  return operation;
}

}  // namespace

TEST_CASE("the root's link carries all parts but the root's own", "[rooted]") {
  auto cluster = make_cluster({{8}});
  const double S = 800e6;
  for (const Collective kind : {Collective::gather, Collective::scatter})
    for (const std::uint32_t n : {2U, 8U}) {
      CAPTURE(n);
      CHECK(seconds(cluster, kind, S, ranks(n)) ==
            Approx(inside + (n - 1) * S / n / nvlink).epsilon(1e-6));
    }
}

TEST_CASE("over nodes the root's NIC carries the parts of other nodes", "[rooted]") {
  auto cluster = make_cluster({{4, 4}, 0, false, {{"collective.message", "3us"}}});
  const double S = 800e6;
  for (const Collective kind : {Collective::gather, Collective::scatter})
    CHECK(seconds(cluster, kind, S, ranks(8)) ==
          Approx(outside + 6 * 3e-6 + S / 2 / nic).epsilon(1e-6));
}

TEST_CASE("a gather goes to the first member, and a scatter from it", "[rooted]") {
  const auto cluster = make_cluster({{4}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto flows = [&](Collective kind) {
    return execution::plan(kind, 4000, Members{2, 0, 1, 3}, Algorithm::ring, placement).at(0).flows;
  };
  REQUIRE(flows(Collective::gather).size() == 3);
  for (const Flow& flow : flows(Collective::gather)) {
    CHECK(flow.destination == 2);
    CHECK(flow.bytes == Approx(1000));
  }
  for (const Flow& flow : flows(Collective::scatter)) CHECK(flow.source == 2);
}

TEST_CASE("a reduce passes sums along the ring to its root", "[rooted]") {
  auto cluster = make_cluster({{4}, 0, false, {{"collective.step", "1us"}}});
  const double S = 100e6;
  const Members members{2, 0, 1, 3};
  CHECK(seconds(cluster, Collective::reduce, S, members) ==
        Approx(3 * (inside + 1e-6) + S / nvlink).epsilon(1e-6));
  const double large = 100e9;
  CHECK(large / seconds(cluster, Collective::reduce, large, members) ==
        Approx(nvlink).epsilon(1e-4));

  const RankPlacement placement(cluster, cluster.gpus());
  const auto flows =
      execution::plan(Collective::reduce, S, members, Algorithm::automatic, placement).at(0).flows;
  REQUIRE(flows.size() == 3);
  CHECK(flows.back().destination == 2);
  for (const Flow& flow : flows) CHECK(flow.source != 2);
}

TEST_CASE("an all-to-all of unequal parts takes the time of its busiest link", "[rooted]") {
  auto cluster = make_cluster({{4}});
  // The busiest link is that of rank 3, which receives 100 MB; no rank sends as much.
  const auto skewed = unequal_all_to_all({0, 10e6, 20e6, 30e6,  //
                                          0, 7e6, 0, 40e6,      //
                                          5e6, 0, 0, 30e6,      //
                                          0, 0, 0, 0},
                                         60e6);
  CHECK(seconds(cluster, skewed, 60e6, ranks(4)) == Approx(inside + 100e6 / nvlink).epsilon(1e-6));
  CHECK(seconds(cluster, skewed, 6e9, ranks(4)) == Approx(inside + 10e9 / nvlink).epsilon(1e-6));
  // Only the direct algorithm supports unequal parts.
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical})
    CHECK(seconds(cluster, skewed, 60e6, ranks(4), algorithm) ==
          Approx(inside + 100e6 / nvlink).epsilon(1e-6));
}

TEST_CASE("equal parts take as long as an all-to-all", "[rooted]") {
  auto cluster = make_cluster({{4, 4}, 0, false, {{"collective.message", "3us"}}});
  const auto equal = unequal_all_to_all(std::vector<double>(64, 1e6), 8e6);
  for (const double S : {8e3, 8e6, 8e9})
    CHECK(seconds(cluster, equal, S, ranks(8)) ==
          Approx(seconds(cluster, Collective::all_to_all, S, ranks(8))).epsilon(1e-9));
}
