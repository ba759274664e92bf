#include "sim/execution/collectives/phase.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/execution/collectives/algorithms.hpp"
#include "sim/execution/exposed_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests the times of collectives on an idle cluster against values computed by hand: latency x
// steps + bytes / bandwidth.

using namespace pipewright;
using namespace pipewright::tests;

namespace {

// Checks three ways to compute a collective's time: the closed form, the load of the busiest link,
// and SimGrid.
void check_seconds(cluster::Cluster& cluster, const RankPlacement& placement, Collective kind,
                   double bytes, const Members& members, Algorithm algorithm, double expected) {
  const auto phases = plan(kind, bytes, members, algorithm, placement);
  CAPTURE(static_cast<int>(kind), bytes, members.size(), static_cast<int>(algorithm));
  CHECK(execution::uncontended_seconds(phases, placement) == Approx(expected).epsilon(1e-6));
  CHECK(simulate_alone(cluster, placement, std::vector<std::vector<Phase>>{phases})[0] ==
        Approx(expected).epsilon(1e-6));
  CHECK(simulate_all(placement, {phases})[0] == Approx(expected).epsilon(1e-6));
}

constexpr std::array sizes{80e3, 16e6, 4e9};

}  // namespace

TEST_CASE("flows add up on a shared link, and only the largest counts on a FATPIPE link",
          "[collectives]") {
  const auto cluster = make_cluster({.gpus = {2, 2}, .one_nic = true});
  const RankPlacement placement(cluster, cluster.gpus());
  execution::LinkLoads loads(placement);
  loads.add(placement.route(0, 2), 3e9);
  loads.add(placement.route(1, 3), 5e9);
  for (const auto& [link, bytes] : loads.by_link()) {
    const std::string name = cluster::Cluster::link_name(link);
    CAPTURE(name);
    CHECK(bytes.front() == (cluster::is_shared(link) ? 8e9 : 5e9));
  }
  CHECK(loads.by_link().size() == 3);  // two NICs and the fabric, which is a FATPIPE
  CHECK(loads.busiest_seconds().front() == Approx(8e9 / nic));
}

TEST_CASE("repeated phases take as many times as long", "[collectives]") {
  auto cluster = make_cluster({{4}});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const Collective kind : {Collective::broadcast, Collective::all_gather}) {
    auto phases = plan(kind, 16e6, ranks(4), Algorithm::ring, placement);
    const double once = execution::uncontended_seconds(phases, placement);
    execution::repeat(phases, 5);
    CHECK(execution::uncontended_seconds(phases, placement) == Approx(5 * once));
    CHECK(simulate_alone(cluster, placement, std::vector<std::vector<Phase>>{phases})[0] ==
          Approx(5 * once).epsilon(1e-6));
  }
}

TEST_CASE("a ring inside a node costs its steps and its volume", "[collectives]") {
  auto cluster = make_cluster({{8}});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const std::uint32_t n : {2U, 5U, 8U})
    for (const double S : sizes) {
      const double half_time = (n - 1) * inside + (n - 1) * S / n / nvlink;
      const auto check = [&](Collective kind, double expected) {
        check_seconds(cluster, placement, kind, S, ranks(n), Algorithm::ring, expected);
      };
      check(Collective::all_reduce, 2 * half_time);
      check(Collective::all_gather, half_time);
      check(Collective::reduce_scatter, half_time);
      check(Collective::ring_exchange, half_time);
      check_seconds(cluster, placement, Collective::all_to_all, S, ranks(n), Algorithm::direct,
                    inside + (n - 1) * S / n / nvlink);
    }
}

TEST_CASE("rings and trees over nodes with one GPU use the NICs", "[collectives]") {
  auto cluster = make_cluster({std::vector<int>(8, 1)});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const double S : sizes) {
    check_seconds(cluster, placement, Collective::all_reduce, S, ranks(8), Algorithm::ring,
                  14 * outside + 2 * S * 7 / 8 / nic);
    // An inner node of one tree is a leaf of the other. In the first it exchanges half of the bytes
    // with its parent and two children, up and down; in the second it sends the other half up.
    check_seconds(cluster, placement, Collective::all_reduce, S, ranks(8), Algorithm::tree,
                  2 * 3 * outside + 2 * S / nic);
    check_seconds(cluster, placement, Collective::all_gather, S, ranks(8), Algorithm::automatic,
                  7 * outside + S * 7 / 8 / nic);
  }
}

TEST_CASE("chunks pass the levels of a tree one after the other if the file states message costs",
          "[collectives]") {
  auto cluster = make_cluster({std::vector<int>(8, 1), 0, false, {{"collective.launch", "10us"}}});
  const RankPlacement placement(cluster, cluster.gpus());
  // Up and down three levels go chunks of 512 KiB of 16 channels, 8 MiB at once.
  for (const double S : {1048576.0, 16e6, 4e9})
    check_seconds(cluster, placement, Collective::all_reduce, S, ranks(8), Algorithm::tree,
                  10e-6 + 2 * 3 * outside + 2 * S / nic + 6 * std::min(S, 0x1p23) / nic);
}

TEST_CASE("collectives over nodes use the NICs of all GPUs", "[collectives]") {
  auto cluster = make_cluster({{4, 4, 4, 4}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto members = ranks(16);
  for (const double S : sizes) {
    const double volume = S * 15 / 16;
    check_seconds(
        cluster, placement, Collective::all_reduce, S, members, Algorithm::ring,
        30 * (3 * inside + outside) / 4 + 2 * volume * std::max(0.75 / nvlink, 0.25 / nic));
    check_seconds(
        cluster, placement, Collective::all_reduce, S, members, Algorithm::tree,
        2 * (3 * inside + 2 * outside) + std::max(2 * S * 3 / 4 / nvlink, 2 * S / 4 / nic));
    check_seconds(cluster, placement, Collective::all_reduce, S, members, Algorithm::hierarchical,
                  2 * (3 * inside + S * 3 / 4 / nvlink) + 6 * outside + 2 * S / 4 * 3 / 4 / nic);
    check_seconds(cluster, placement, Collective::all_gather, S, members, Algorithm::hierarchical,
                  3 * inside + S * 3 / 4 / nvlink + 3 * outside + S / 4 * 3 / 4 / nic);
    check_seconds(cluster, placement, Collective::all_to_all, S, members, Algorithm::direct,
                  outside + S * 12 / 16 / nic);
    check_seconds(cluster, placement, Collective::all_to_all, S, members, Algorithm::hierarchical,
                  inside + S * 3 / 4 / nvlink + outside + S * 3 / 4 / nic);
    check_seconds(cluster, placement, Collective::all_reduce, S, members, Algorithm::direct,
                  2 * (outside + S * 12 / 16 / nic));
  }
}

TEST_CASE("an all-to-all between two nodes is limited by a shared NIC", "[collectives]") {
  auto cluster = make_cluster({.gpus = {4, 4}, .one_nic = true});
  const RankPlacement placement(cluster, cluster.gpus());
  // Each GPU of a node sends an eighth of its bytes to each of the four GPUs of the other node, all
  // over one NIC.
  const double S = 80e6;
  check_seconds(cluster, placement, Collective::all_to_all, S, ranks(8), Algorithm::direct,
                outside + 4 * 4 * S / 8 / nic);
}

TEST_CASE("a collective on an ideal network costs its steps", "[collectives]") {
  const auto cluster = cluster::Cluster::ideal(1e-3);
  const RankPlacement placement(cluster, cluster.place({}, 4));
  const auto seconds = [&](Collective kind, Algorithm algorithm) {
    const auto phases = plan(kind, 1e9, ranks(4), algorithm, placement);
    CHECK(simulate_all(placement, {phases})[0] ==
          Approx(execution::uncontended_seconds(phases, placement)));
    return execution::uncontended_seconds(phases, placement);
  };
  CHECK(seconds(Collective::all_reduce, Algorithm::ring) == Approx(6e-3));
  CHECK(seconds(Collective::all_gather, Algorithm::automatic) == Approx(3e-3));
  CHECK(seconds(Collective::all_to_all, Algorithm::automatic) == Approx(1e-3));
}

TEST_CASE("the link loads of a phase follow its formula", "[collectives]") {
  const auto cluster = make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 20});
  const RankPlacement placement(cluster, cluster.gpus());
  const double S = 160e6;
  const auto on_uplinks = [&](Algorithm algorithm) {
    std::map<std::string, double> bytes;
    for (const auto& phase : plan(Collective::all_reduce, S, ranks(16), algorithm, placement))
      for (const auto& [link, load] : execution::loads(phase, placement).by_link())
        if (const auto name = cluster::Cluster::link_name(link); name.starts_with("uplink"))
          bytes[name] += load.front();
    CHECK(bytes.size() == 8);
    return bytes;
  };
  // However many channels it is divided into, a ring sends its whole volume over each uplink once
  // in each direction.
  for (const auto& [link, bytes] : on_uplinks(Algorithm::ring))
    CHECK(bytes == Approx(2 * S * 15 / 16));
  for (const auto& [link, bytes] : on_uplinks(Algorithm::hierarchical))
    CHECK(bytes == Approx(2 * S * 3 / 4));
  // Each of two trees has three edges between nodes. An edge crosses two uplinks, once up and once
  // down, and carries half of the bytes.
  double trees = 0;
  for (const auto& [link, bytes] : on_uplinks(Algorithm::tree)) trees += bytes;
  CHECK(trees == Approx(2 * 3 * 2 * 2 * S / 2));
}
