#include "sim/execution/collectives/plan.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/execution/collectives/algorithms.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;

namespace {

constexpr double S = 960e6;  // bytes
constexpr auto simple = cluster::Protocol::simple;

std::map<std::string, double> loads_by_name(const Phase& phase, const RankPlacement& placement) {
  std::map<std::string, double> result;
  for (const auto& [link, bytes] : execution::loads(phase, placement).by_link())
    result[cluster::Cluster::link_name(link)] = bytes.front();
  return result;
}

// Returns the bytes that each rank sends in a phase.
std::map<std::uint32_t, double> sent(const Phase& phase) {
  std::map<std::uint32_t, double> bytes;
  for (const Flow& flow : phase.flows) bytes[flow.source] += flow.bytes;
  return bytes;
}
std::map<std::uint32_t, double> received(const Phase& phase) {
  std::map<std::uint32_t, double> bytes;
  for (const Flow& flow : phase.flows) bytes[flow.destination] += flow.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("a group of one rank and a collective without bytes have no phases", "[collectives]") {
  const auto cluster = make_cluster({{2}});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const auto kind : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
    CHECK(plan(kind, S, Members{1}, Algorithm::automatic, placement).empty());
    CHECK(plan(kind, 0, Members{0, 1}, Algorithm::automatic, placement).empty());
  }
}

TEST_CASE("in a ring every rank sends all bytes but one part", "[collectives]") {
  const auto cluster = make_cluster({{8}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto check = [&](Collective kind, double times) {
    const auto phases = plan(kind, S, ranks(4, 2), Algorithm::ring, placement);
    REQUIRE(phases.size() == 1);
    REQUIRE(phases[0].flows.size() == 4);
    for (std::uint32_t i = 0; i < 4; ++i) {
      CHECK(phases[0].flows[i].source == 2 + i);
      CHECK(phases[0].flows[i].destination == 2 + (i + 1) % 4);
      CHECK(phases[0].flows[i].bytes == Approx(times * S * 3 / 4));
    }
    CHECK(phases[0].latency == Approx(times * 3 * inside));
  };
  check(Collective::all_reduce, 2);
  check(Collective::all_gather, 1);
  check(Collective::reduce_scatter, 1);
  check(Collective::ring_exchange, 1);
}

TEST_CASE("rings over nodes leave each node by all its NICs, on their rails", "[collectives]") {
  const auto cluster = make_cluster({std::vector<int>(4, 4)});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const std::uint32_t nodes : {2U, 3U, 4U}) {
    const std::uint32_t n = 4 * nodes;
    const auto phases = plan(Collective::all_reduce, S, ranks(n), Algorithm::ring, placement);
    REQUIRE(phases.size() == 1);
    const double volume = 2 * S * (n - 1) / n;

    // Every rank sends and receives the whole volume. A quarter of that crosses its NIC, since one
    // hop in four leads to another node.
    CHECK(sent(phases[0]).size() == n);
    for (const auto& [rank, bytes] : sent(phases[0])) CHECK(bytes == Approx(volume));
    for (const auto& [rank, bytes] : received(phases[0])) CHECK(bytes == Approx(volume));
    for (const auto& [link, bytes] : loads_by_name(phases[0], placement)) {
      CAPTURE(link);
      const double part = link.starts_with("nvlink") ? 0.75 : 0.25;
      if (link != "fabric") CHECK(bytes == Approx(part * volume));
    }
    int off_rail = 0;
    for (const Flow& flow : phases[0].flows)
      if (placement.node(flow.source) != placement.node(flow.destination))
        off_rail += flow.source % 4 == flow.destination % 4 ? 0 : 1;
    CHECK(off_rail == (nodes % 2 == 0 ? 0 : 4));  // an odd number of reversals ends on another rail
    // For each hop between nodes, a ring has three hops inside a node.
    CHECK(phases[0].latency == Approx(2 * (n - 1) * (3 * inside + outside) / 4));
  }
}

TEST_CASE("nodes of unequal size have as many rings as the smallest has members", "[collectives]") {
  const auto cluster = make_cluster({{2, 3}});
  const RankPlacement placement(cluster, cluster.gpus());
  // The given order alternates between the nodes, but each of the two rings still enters each node
  // only once.
  const auto phases =
      plan(Collective::all_gather, S, Members{2, 0, 3, 1, 4}, Algorithm::ring, placement);
  for (const auto& [rank, bytes] : sent(phases[0])) CHECK(bytes == Approx(S * 4 / 5));
  CHECK(sent(phases[0]).size() == 5);
  std::map<std::uint32_t, double> leaving;
  for (const Flow& flow : phases[0].flows)
    if (placement.node(flow.source) != placement.node(flow.destination))
      leaving[flow.source] += flow.bytes;
  CHECK(leaving.size() == 4);  // two GPUs of each node, each by its own NIC
  for (const auto& [rank, bytes] : leaving) CHECK(bytes == Approx(S * 2 / 5));
  CHECK(phases[0].latency == Approx(4 * (3 * inside + 2 * outside) / 5));
}

TEST_CASE("the two trees load every rank equally", "[collectives]") {
  const auto cluster = make_cluster({std::vector<int>(16, 1)});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U, 7U, 8U, 14U, 16U}) {
    const auto phases = plan(Collective::all_reduce, S, ranks(nodes), Algorithm::tree, placement);
    REQUIRE(phases.size() == 1);
    // There are two trees with n - 1 edges each. An edge carries half of the bytes up and half of
    // them down.
    double total = 0;
    for (const auto& [rank, bytes] : sent(phases[0])) {
      total += bytes;
      // A leaf of a tree sends its half of the bytes only up; an inner node also sends it down to
      // at most two children.
      CHECK(bytes <= 2 * S * (1 + 1e-12));
    }
    CHECK(total == Approx(2 * (nodes - 1) * S));
    CHECK(sent(phases[0]) == received(phases[0]));
  }
}

TEST_CASE("the latency of trees grows with the logarithm of the nodes", "[collectives]") {
  const auto cluster = make_cluster({std::vector<int>(16, 2)});
  const RankPlacement placement(cluster, cluster.gpus());
  const std::vector<std::pair<std::uint32_t, int>> depths{{2, 1}, {4, 2}, {8, 3}, {16, 4}, {14, 4}};
  for (const auto& [nodes, depth] : depths) {
    const auto phases =
        plan(Collective::all_reduce, S, ranks(2 * nodes), Algorithm::tree, placement);
    CHECK(phases[0].latency == Approx(2 * (inside + depth * outside)));
    // Inside a node, each of two channels carries half of the bytes along a chain, up to the tree
    // and down from it.
    const auto loads = loads_by_name(phases[0], placement);
    CHECK(loads.at("nvlink-0-0_UP") == Approx(S));
  }
}

TEST_CASE("a hierarchical collective reduces inside nodes before it crosses the network",
          "[collectives]") {
  const auto cluster = make_cluster({{4, 4, 4}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto members = ranks(12);
  const auto reduce = plan(Collective::all_reduce, S, members, Algorithm::hierarchical, placement);
  REQUIRE(reduce.size() == 3);
  for (const auto& [rank, bytes] : sent(reduce[0])) CHECK(bytes == Approx(S * 3 / 4));
  for (const auto& [rank, bytes] : sent(reduce[1])) CHECK(bytes == Approx(2 * S / 4 * 2 / 3));
  for (const auto& [rank, bytes] : sent(reduce[2])) CHECK(bytes == Approx(S * 3 / 4));
  CHECK(reduce[0].latency == Approx(3 * inside));
  CHECK(reduce[1].latency == Approx(4 * outside));
  for (const Flow& flow : reduce[1].flows) CHECK(flow.source % 4 == flow.destination % 4);

  const auto gather = plan(Collective::all_gather, S, members, Algorithm::hierarchical, placement);
  REQUIRE(gather.size() == 2);  // first over the rails, a twelfth from each of two other nodes
  for (const auto& [rank, bytes] : sent(gather[0])) CHECK(bytes == Approx(S / 12 * 2));
  for (const auto& [rank, bytes] : sent(gather[1])) CHECK(bytes == Approx(S * 3 / 4));

  const auto exchange =
      plan(Collective::all_to_all, S, members, Algorithm::hierarchical, placement);
  REQUIRE(exchange.size() == 2);
  for (const auto& [rank, bytes] : sent(exchange[0])) CHECK(bytes == Approx(S * 3 / 4));
  for (const auto& [rank, bytes] : sent(exchange[1])) CHECK(bytes == Approx(S * 2 / 3));
}

TEST_CASE("direct collectives send a part between each pair", "[collectives]") {
  const auto cluster = make_cluster({{2, 2}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto exchange = plan(Collective::all_to_all, S, ranks(4), Algorithm::automatic, placement);
  REQUIRE(exchange.size() == 1);
  CHECK(exchange[0].flows.size() == 12);
  for (const Flow& flow : exchange[0].flows) CHECK(flow.bytes == S / 4);
  CHECK(exchange[0].latency == Approx(outside));
  // An all_reduce is a reduce-scatter followed by an all-gather.
  CHECK(plan(Collective::all_reduce, S, ranks(4), Algorithm::direct, placement).size() == 2);
}

TEST_CASE("algorithms that do not support a collective are replaced", "[collectives]") {
  const auto cluster = make_cluster({{2, 2, 1}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto algorithm_used = [&](Collective kind, const Members& members, Algorithm algorithm) {
    return choose(kind, S, members, algorithm, placement).algorithm;
  };
  CHECK(algorithm_used(Collective::all_gather, ranks(4), Algorithm::tree) == Algorithm::ring);
  CHECK(algorithm_used(Collective::all_to_all, ranks(4), Algorithm::ring) == Algorithm::direct);
  CHECK(algorithm_used(Collective::all_reduce, ranks(4), Algorithm::hierarchical) ==
        Algorithm::hierarchical);
  CHECK(algorithm_used(Collective::all_reduce, ranks(5), Algorithm::hierarchical) ==
        Algorithm::ring);
  CHECK(algorithm_used(Collective::all_reduce, Members{0, 2, 4}, Algorithm::hierarchical) ==
        Algorithm::ring);
  CHECK(algorithm_used(Collective::all_to_all, ranks(2), Algorithm::hierarchical) ==
        Algorithm::direct);
  CHECK(algorithm_used(Collective::ring_exchange, ranks(4), Algorithm::direct) == Algorithm::ring);
}

TEST_CASE("every named algorithm runs an all-reduce", "[collectives]") {
  const auto cluster = make_cluster({.gpus = {4, 4},
                                     .properties = {{"nvlink.sharp-latency", "5us"},
                                                    {"nvlink.sharp-efficiency", "0.8"},
                                                    {"nic.sharp-latency", "10us"},
                                                    {"nic.sharp-efficiency", "0.9"}}});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const std::string_view name : config::algorithm_names) {
    const Algorithm algorithm = config::parse_algorithm(name).value();
    CAPTURE(name);
    CHECK_FALSE(plan(Collective::all_reduce, S, ranks(8), algorithm, placement).empty());
    // These nodes are in no torus; torus_test.cpp has clusters that are.
    if (algorithm != Algorithm::automatic && algorithm != Algorithm::torus)
      CHECK(choose(Collective::all_reduce, S, ranks(8), algorithm, placement).algorithm ==
            algorithm);
  }
}

TEST_CASE("small all-reduces use trees and large ones rings", "[collectives]") {
  const auto cluster = make_cluster({std::vector<int>(16, 2)});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto chosen = [&](double bytes) {
    return choose(Collective::all_reduce, bytes, ranks(32), Algorithm::automatic, placement)
        .algorithm;
  };
  CHECK(chosen(4) == Algorithm::tree);
  CHECK(chosen(1e6) == Algorithm::tree);
  CHECK(chosen(1e9) == Algorithm::ring);
  CHECK(choose(Collective::all_reduce, 4, ranks(2), Algorithm::automatic, placement).algorithm ==
        Algorithm::ring);
}

TEST_CASE("the order of a group's ranks does not change loads or latency", "[collectives]") {
  const auto cluster = make_cluster({{4, 4}});
  const RankPlacement placement(cluster, cluster.gpus());
  std::mt19937 random(3);
  for (const auto algorithm :
       {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::direct}) {
    Members members = ranks(8);
    const auto straight = plan(Collective::all_reduce, S, members, algorithm, placement);
    for (int i = 0; i < 20; ++i) {
      std::shuffle(members.begin(), members.end(), random);
      const auto shuffled = plan(Collective::all_reduce, S, members, algorithm, placement);
      REQUIRE(shuffled.size() == straight.size());
      for (std::size_t k = 0; k < shuffled.size(); ++k) {
        REQUIRE(shuffled[k].latency == Approx(straight[k].latency));
        const auto a = loads_by_name(shuffled[k], placement);
        const auto b = loads_by_name(straight[k], placement);
        REQUIRE(a.size() == b.size());
        for (const auto& [link, bytes] : a) REQUIRE(bytes == Approx(b.at(link)));
      }
    }
  }
}

TEST_CASE("a ring exchange keeps the order of its members", "[collectives]") {
  const auto cluster = make_cluster({{2, 2}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto phases =
      plan(Collective::ring_exchange, S, Members{0, 2, 1, 3}, Algorithm::automatic, placement);
  CHECK(phases[0].flows[0].destination == 2);
  CHECK(phases[0].latency == Approx(3 * outside));  // every hop leaves a node
}

TEST_CASE("messages to another rail first go over NVLink to the GPU on that rail",
          "[collectives]") {
  // 32 nodes are connected by rails whose spines have an eighth of the bandwidth. Over each NIC
  // leave 31 x 8 of 256 parts, none of which crosses a spine. Of 255 messages per GPU, each after
  // the first adds 2.5 us.
  const config::test::Folder folder;
  auto cluster = cluster::Cluster::load(folder.write(
      "thin.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind("dgx-h100"), 32}},
                                          .oversubscription = 8})));
  const RankPlacement placement(cluster, cluster.gpus());
  const double S = 1e9;
  const auto phases = plan(Collective::all_to_all, S, ranks(256), Algorithm::automatic, placement);
  CHECK(simulate_all(placement, {phases})[0] ==
        Approx(S * 31 * 8 / 256 / 49e9 + 254 * 2.5e-6).epsilon(2e-3));
}

TEST_CASE("GPUs of different rails reach each other where only rails join nodes", "[collectives]") {
  // Two nodes have two GPUs each, with a link between them, and a NIC from each GPU to its peer in
  // the other node.
  const config::test::Folder folder;
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version='4.1'><zone id='all' routing='Full'>\n";
  for (int a = 0; a < 4; ++a)
    text += fmt::format("<host id='gpu-{}' speed='1Gf'><prop id='node' value='{}'/></host>\n", a,
                        a / 2);
  for (const auto& [name, rate] : {std::pair{"inside-0", 100}, std::pair{"inside-1", 100},
                                   std::pair{"rail-0", 10}, std::pair{"rail-1", 10}})
    text += fmt::format(
        "<link id='{}' bandwidth='{}GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n", name,
        rate);
  for (const auto& [a, b, link] : {std::tuple{0, 1, "inside-0"}, std::tuple{2, 3, "inside-1"},
                                   std::tuple{0, 2, "rail-0"}, std::tuple{1, 3, "rail-1"}})
    text +=
        fmt::format("<route src='gpu-{}' dst='gpu-{}'><link_ctn id='{}' direction='UP'/></route>\n",
                    a, b, link);
  auto cluster = cluster::Cluster::load(folder.write("rails.xml", text + "</zone></platform>"));
  const RankPlacement placement(cluster, cluster.gpus());
  const double S = 4e9;
  const auto phases = plan(Collective::all_to_all, S, ranks(4), Algorithm::automatic, placement);
  // A rail carries a quarter of S for each of the two GPUs of a node. Latency is 1 us inside the
  // node and 1 us outside.
  CHECK(simulate_all(placement, {phases})[0] == Approx(2 * S / 4 / 10e9 + 2e-6).epsilon(1e-9));
  // A single message also takes two links: to the GPU on the receiver's rail, and along the rail.
  const cluster::Route route = cluster.route(cluster.gpus()[0], cluster.gpus()[3]);
  CHECK(route.links.size() == 2);
  CHECK(route.bandwidth == Approx(10e9));
  CHECK(route.latency == Approx(2e-6));
}
