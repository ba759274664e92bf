#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/execution/collectives/algorithms.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;

namespace {

constexpr double S = 960e6;     // bytes
constexpr double cable = 45e9;  // bytes/s in one direction
constexpr double hop = 1e-6;    // seconds

// Chips with cables of 45 GB/s, each at a corner of a torus.
cluster::Cluster make_torus(const std::string& sides, std::uint32_t chips) {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write(
      "torus.xml",
      fmt::format("<?xml version='1.0'?>\n"
                  "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                  "<platform version=\"4.1\"><cluster id='t' topology='TORUS' "
                  "topo_parameters='{}' prefix='chip-' radical='0-{}' suffix='' speed='1Tf' "
                  "bw='45GBps' lat='1us' sharing_policy='SPLITDUPLEX'/></platform>\n",
                  sides, chips - 1)));
}

// Seconds of a collective, without contention.
double seconds(const RankPlacement& placement, Collective kind, const Members& members,
               Algorithm algorithm = Algorithm::automatic) {
  return uncontended_seconds(plan(kind, S, members, algorithm, placement), placement);
}

// Seconds over `cables` cables of each of n chips, in `steps` hops.
double by_links(double times, double n, double cables, double steps) {
  return times * S * (n - 1) / n / (cables * cable) + times * steps * hop;
}

}  // namespace

TEST_CASE("collectives of a torus use all cables of each chip", "[torus]") {
  struct Case {
    std::string sides;
    std::uint32_t chips;
    double cables;
    double steps;  // sum over dimensions of the positions but one
  };
  // A side of two has one cable, because SimGrid uses only one of two.
  for (const auto& [sides, chips, cables, steps] :
       {Case{"4,4,4", 64, 6, 9}, Case{"3,3,3", 27, 6, 6}, Case{"8,4,2", 64, 5, 11},
        Case{"16,4", 64, 4, 18}, Case{"2,2,2", 8, 3, 3}, Case{"4,4,1", 16, 4, 6}}) {
    CAPTURE(sides);
    const auto cluster = make_torus(sides, chips);
    const RankPlacement placement(cluster, cluster.gpus());
    CHECK(seconds(placement, Collective::all_reduce, ranks(chips)) ==
          Approx(by_links(2, chips, cables, steps)));
    for (const auto kind : {Collective::all_gather, Collective::reduce_scatter})
      CHECK(seconds(placement, kind, ranks(chips)) == Approx(by_links(1, chips, cables, steps)));
    CHECK(
        execution::choose(Collective::all_reduce, S, ranks(chips), Algorithm::automatic, placement)
            .algorithm == Algorithm::torus);
  }
}

TEST_CASE("a ring of chips is used in both directions", "[torus]") {
  const auto cluster = make_torus("12", 12);
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(seconds(placement, Collective::all_gather, ranks(12)) == Approx(by_links(1, 12, 2, 11)));
}

TEST_CASE("an all-reduce of 4 x 4 x 4 chips reaches 270 GB/s", "[torus]") {
  // A chip has six cables of 45 GB/s.
  const auto cluster = make_torus("4,4,4", 64);
  const RankPlacement placement(cluster, cluster.gpus());
  const double time = seconds(placement, Collective::all_reduce, ranks(64)) - 2 * 9 * hop;
  CHECK(2 * S * 63 / 64 / time == Approx(270e9));
}

TEST_CASE("every rank of a torus sends and receives what a ring would", "[torus]") {
  const auto cluster = make_torus("4,3,2", 24);
  const RankPlacement placement(cluster, cluster.gpus());
  const auto phases = plan(Collective::all_reduce, S, ranks(24), Algorithm::torus, placement);
  REQUIRE(phases.size() == 1);
  std::map<std::uint32_t, double> sent, received;
  for (const Flow& flow : phases[0].flows) {
    sent[flow.source] += flow.bytes;
    received[flow.destination] += flow.bytes;
    // Neighbours are one cable apart.
    CHECK(placement.route(flow.source, flow.destination).path().size() == 1);
  }
  for (std::uint32_t rank = 0; rank < 24; ++rank) {
    CHECK(sent[rank] == Approx(2 * S * 23 / 24));
    CHECK(received[rank] == Approx(2 * S * 23 / 24));
  }
  // All 120 directions of cables carry the same: 24 chips with 2 + 2 + 1 cables.
  const auto loads = execution::loads(phases[0], placement);
  CHECK(loads.by_link().size() == 120);
  for (const auto& [link, bytes] : loads.by_link())
    CHECK(bytes.front() / cluster::Cluster::capacity_of(link) ==
          Approx(2 * S * 23 / 24 / (5 * cable)));
}

TEST_CASE("a plane of a torus uses the cables of the plane", "[torus]") {
  const auto cluster = make_torus("4,4,4", 64);
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(seconds(placement, Collective::all_reduce, ranks(16)) == Approx(by_links(2, 16, 4, 6)));
  // Chips 0, 4, 8 and 12 form the ring of the second dimension; chips 5, 21, 37 and 53 one of the
  // third.
  CHECK(seconds(placement, Collective::all_gather, ranks(4, 0, 4)) == Approx(by_links(1, 4, 2, 3)));
  CHECK(seconds(placement, Collective::all_gather, ranks(4, 5, 16)) ==
        Approx(by_links(1, 4, 2, 3)));
}

TEST_CASE("a line of a torus has the cables of one direction", "[torus]") {
  // Chips 0 to 3 of a ring of 8. The hop from chip 3 to chip 0 leads back over three cables, so
  // that each direction of a cable carries both halves of the bytes. Four hops of 1 + 1 + 1 + 3
  // cables have a mean latency of 1.5 us, the same in the other direction.
  const auto cluster = make_torus("8", 8);
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(seconds(placement, Collective::all_reduce, ranks(4), Algorithm::torus) ==
        Approx(2 * S * 3 / 4 / cable + 2 * 3 * 1.5e-6));
}

TEST_CASE("a group that fills no part of a torus has no torus algorithm", "[torus]") {
  const auto cluster = make_torus("4,4", 16);
  const RankPlacement placement(cluster, cluster.gpus());
  for (const Members& members : {Members{0, 1, 2, 3, 4}, Members{0, 1, 5}, Members{0, 5}}) {
    CHECK_FALSE(execution::find_torus(members, placement));
    CHECK(execution::choose(Collective::all_reduce, S, members, Algorithm::torus, placement)
              .algorithm == Algorithm::ring);
  }
  // The order of the members does not matter, nor do positions in other dimensions.
  CHECK(execution::find_torus(Members{5, 2, 1, 6}, placement));
  const auto node = make_cluster({{2}});
  CHECK_FALSE(execution::find_torus(Members{0, 1}, RankPlacement(node, node.gpus())));
}

TEST_CASE("all-to-all and rooted collectives do not use the torus algorithm", "[torus]") {
  const auto cluster = make_torus("4,4", 16);
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(execution::choose(Collective::all_to_all, S, ranks(16), Algorithm::torus, placement)
            .algorithm == Algorithm::direct);
  CHECK(execution::choose(Collective::broadcast, S, ranks(16), Algorithm::torus, placement)
            .algorithm == Algorithm::ring);
}

TEST_CASE("nodes at the corners of a torus reduce inside, and along all cables", "[torus]") {
  // 27 nodes of 8 GPUs. Each GPU passes on an eighth of the bytes over cables that have the
  // bandwidth of the node's NICs together.
  const cluster::NodeKind& node = cluster::find_node_kind("dgx-h100");
  const config::test::Folder folder;
  const auto cluster = cluster::Cluster::load(folder.write(
      "torus.xml", cluster::make_platform({.nodes = {{&node, 27}}, .fabric = "torus"})));
  const RankPlacement placement(cluster, cluster.gpus());
  const auto phases = plan(Collective::all_reduce, S, ranks(216), Algorithm::torus, placement);
  REQUIRE(phases.size() == 3);
  const double nics = node.nics * node.nic_bandwidth;
  const auto transfer = [&](const Phase& phase) {
    return execution::loads(phase, placement).busiest_seconds().front();
  };
  CHECK(transfer(phases[0]) == Approx(S * 7 / 8 / node.link_bandwidth));
  CHECK(transfer(phases[1]) == Approx(2 * S * 26 / 27 / nics));
  CHECK(transfer(phases[2]) == Approx(transfer(phases[0])));
}

TEST_CASE("a torus of 4,096 chips has six flows for each chip", "[torus]") {
  const auto cluster = make_torus("16,16,16", 4096);
  const RankPlacement placement(cluster, cluster.gpus());
  const auto phases = plan(Collective::all_reduce, S, ranks(4096), Algorithm::torus, placement);
  REQUIRE(phases.size() == 1);
  CHECK(phases[0].flows.size() == 6 * 4096);
  CHECK(uncontended_seconds(phases, placement) == Approx(by_links(2, 4096, 6, 45)));
}
