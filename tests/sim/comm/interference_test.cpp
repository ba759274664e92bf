#include "sim/comm/interference.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/execution/collectives/support.hpp"

// Slowdowns computed by hand; transfers are so large that latencies are negligible.

using namespace pipewright;
using namespace pipewright::tests;
using analysis::Interference;
using Groups = std::vector<Members>;

namespace {

constexpr std::uint64_t S = 8'000'000'000;  // bytes

struct World {
  explicit World(const Shape& shape)
      : cluster(make_cluster(shape)), placement(cluster, cluster.gpus()) {}

  comm::Traffic traffic(const std::string& name, Collective collective, const Groups& groups,
                        std::uint64_t bytes = S, Algorithm algorithm = Algorithm::automatic) const {
    return comm::make_traffic(name, "", collective, bytes, groups, algorithm, placement);
  }
  Interference interfere(const std::vector<comm::Traffic>& traffic) {
    return comm::interfere(cluster, placement, traffic);
  }
  cluster::Cluster cluster;
  RankPlacement placement;
};

void check_slow_downs(const Interference& result, double first_slowdown, double second_slowdown) {
  CHECK(result.slow_down(0, 1) == Approx(first_slowdown).epsilon(1e-4));
  CHECK(result.slow_down(1, 0) == Approx(second_slowdown).epsilon(1e-4));
}

const Groups pairs{{0, 4}, {1, 5}, {2, 6}, {3, 7}};

}  // namespace

TEST_CASE(
    "transfers between stages and rings of replicas on the same NICs slow each other by a factor "
    "of 2",
    "[comm]") {
  World world({.gpus = {4, 4}});
  const auto result = world.interfere({world.traffic("dp", Collective::all_reduce, pairs),
                                       world.traffic("pp", Collective::send_recv, pairs, S / 4)});
  check_slow_downs(result, 2, 2);
  REQUIRE(result.encounters.size() == 1);
  const auto& encounter = result.encounters.front();
  // In a ring of two ranks, an all-reduce sends as many bytes over each NIC as the buffer has.
  const double full_time = S / nic;
  CHECK(result.traffic[0].alone == Approx(full_time).epsilon(1e-4));
  CHECK(result.traffic[1].alone == Approx(full_time / 4).epsilon(1e-4));
  CHECK(encounter.other_together == Approx(full_time / 2).epsilon(1e-4));
  CHECK(encounter.one_together == Approx(full_time * 5 / 4).epsilon(1e-4));
  REQUIRE(encounter.shared.size() == 1);
  CHECK(encounter.shared[0].link_class == "nic");
  CHECK(encounter.shared[0].links == 16);
  CHECK(encounter.shared[0].bytes == Approx(S));
  CHECK(encounter.shared[0].other_bytes == Approx(S / 4));
  CHECK(encounter.shared[0].bandwidth == Approx(nic));
}

TEST_CASE("two rings share an oversubscribed uplink", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 10});
  const auto result =
      world.interfere({world.traffic("a", Collective::all_reduce, {{0, 4}}),
                       world.traffic("b", Collective::all_reduce, {{1, 5}}, 3 * S)});
  check_slow_downs(result, 2, 2);
  const auto& encounter = result.encounters.front();
  CHECK(encounter.one_together == Approx(2 * S / 10e9).epsilon(1e-4));
  CHECK(encounter.other_together == Approx(4 * S / 10e9).epsilon(1e-4));
  CHECK(encounter.shared.at(0).link_class == "uplink");
  CHECK(encounter.shared.size() == 1);  // their NICs are not shared
}

TEST_CASE("a wide uplink does not slow rings down", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 20});
  const auto result = world.interfere({world.traffic("a", Collective::all_reduce, {{0, 4}}),
                                       world.traffic("b", Collective::all_reduce, {{1, 5}})});
  check_slow_downs(result, 1, 1);
  CHECK(result.encounters.front().shared.size() == 1);
}

TEST_CASE("groups in different nodes share no links", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto result = world.interfere({world.traffic("a", Collective::all_reduce, {{0, 1, 2, 3}}),
                                       world.traffic("b", Collective::all_gather, {{4, 5, 6, 7}})});
  CHECK(result.slow_down(0, 1) == 1);
  CHECK(result.slow_down(1, 0) == 1);
  CHECK(result.encounters.front().shared.empty());
  CHECK(result.encounters.front().one_together == result.traffic[0].alone);
}

TEST_CASE("groups inside a node do not slow each other on a switch", "[comm]") {
  World world({.gpus = {8}});
  const auto result = world.interfere(
      {world.traffic("tp", Collective::all_reduce, {{0, 1}, {2, 3}, {4, 5}, {6, 7}})});
  CHECK(result.slow_down(0, 0) == Approx(1).epsilon(1e-9));
  CHECK(result.traffic[0].groups == 4);
  CHECK(result.encounters.empty());
}

TEST_CASE("groups of one kind slow each other if they share a NIC", "[comm]") {
  World world({.gpus = {4, 4}, .one_nic = true});
  const auto result = world.interfere({world.traffic("dp", Collective::all_reduce, pairs)});
  CHECK(result.slow_down(0, 0) == Approx(4).epsilon(1e-4));
}

TEST_CASE("an all-to-all across nodes gets one share of a NIC per flow", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto result = world.interfere({world.traffic("ep", Collective::all_to_all, {ranks(8)}),
                                       world.traffic("dp", Collective::all_reduce, pairs)});
  // The all-to-all sends four flows from each rank to the other node, and the all-reduce one.
  check_slow_downs(result, 5.0 / 4, 5);
}

TEST_CASE("traffic with several phases interferes only in phases that share links", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto result = world.interfere(
      {world.traffic("tp", Collective::all_gather, {ranks(4), ranks(4, 4)}),
       world.traffic("dp", Collective::all_reduce, {ranks(8)}, S, Algorithm::hierarchical)});
  // In an all-reduce of S bytes, phases inside nodes send 2 x 3/4 S over NVLink, and one phase
  // sends 1/4 S over NICs. Both times are divided by S.
  const double within = 2 * 0.75 / nvlink;
  const double across = 0.25 / nic;
  const double speed = (within * 0.5 + across) / (within + across);
  CHECK(result.slow_down(0, 1) == Approx(1 / speed).epsilon(1e-4));
  const double slowed = (2 * within + across) / (within + across);
  CHECK(result.slow_down(1, 0) == Approx(slowed).epsilon(1e-4));
}

TEST_CASE("other traffic does not increase latency", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto result =
      world.interfere({world.traffic("small", Collective::send_recv, {{0, 4}}, 1000),
                       world.traffic("large", Collective::all_reduce, {{0, 4}})});
  CHECK(result.slow_down(0, 1) == Approx((outside + 2 * 1000 / nic) / (outside + 1000 / nic)));
}

TEST_CASE("every pair of kinds is simulated once, independent of their order", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 15});
  const auto a = world.traffic("a", Collective::all_reduce, {ranks(8)});
  const auto b = world.traffic("b", Collective::all_to_all, {ranks(8)}, S / 2);
  const auto c = world.traffic("c", Collective::send_recv, pairs, S / 8);
  const auto forward = world.interfere({a, b, c});
  const auto backward = world.interfere({c, b, a});
  CHECK(forward.encounters.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(forward.slow_down(i, j) == Approx(backward.slow_down(2 - i, 2 - j)).epsilon(1e-6));
      CHECK(forward.slow_down(i, j) > 1 - 1e-9);
    }
}
