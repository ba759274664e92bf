#include "sim/comm/interference.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/execution/collectives/support.hpp"

// Pencil-and-paper slow-downs: transfers are so large that latencies do not count.

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
  Interference meet(const std::vector<comm::Traffic>& traffic) {
    return comm::interfere(cluster, placement, traffic);
  }
  cluster::Cluster cluster;
  RankPlacement placement;
};

void check_slow_downs(const Interference& found, double one, double other) {
  CHECK(found.slow_down(0, 1) == Approx(one).epsilon(1e-4));
  CHECK(found.slow_down(1, 0) == Approx(other).epsilon(1e-4));
}

const Groups pairs{{0, 4}, {1, 5}, {2, 6}, {3, 7}};

}  // namespace

TEST_CASE("sends of stages and rings of replicas on the same NICs halve each other", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto found = world.meet({world.traffic("dp", Collective::all_reduce, pairs),
                                 world.traffic("pp", Collective::send_recv, pairs, S / 4)});
  check_slow_downs(found, 2, 2);
  REQUIRE(found.encounters.size() == 1);
  const auto& two = found.encounters.front();
  // A ring of two carries the buffer once over each NIC.
  const double whole = S / nic;
  CHECK(found.traffic[0].alone == Approx(whole).epsilon(1e-4));
  CHECK(found.traffic[1].alone == Approx(whole / 4).epsilon(1e-4));
  CHECK(two.other_together == Approx(whole / 2).epsilon(1e-4));
  CHECK(two.one_together == Approx(whole * 5 / 4).epsilon(1e-4));
  REQUIRE(two.shared.size() == 1);
  CHECK(two.shared[0].link_class == "nic");
  CHECK(two.shared[0].links == 16);
  CHECK(two.shared[0].bytes == Approx(S));
  CHECK(two.shared[0].other_bytes == Approx(S / 4));
  CHECK(two.shared[0].bandwidth == Approx(nic));
}

TEST_CASE("two rings share an oversubscribed uplink", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 10});
  const auto found = world.meet({world.traffic("a", Collective::all_reduce, {{0, 4}}),
                                 world.traffic("b", Collective::all_reduce, {{1, 5}}, 3 * S)});
  check_slow_downs(found, 2, 2);
  const auto& two = found.encounters.front();
  CHECK(two.one_together == Approx(2 * S / 10e9).epsilon(1e-4));
  CHECK(two.other_together == Approx(4 * S / 10e9).epsilon(1e-4));
  CHECK(two.shared.at(0).link_class == "uplink");
  CHECK(two.shared.size() == 1);  // their NICs are their own
}

TEST_CASE("an uplink that is wide enough lets rings alone", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 20});
  const auto found = world.meet({world.traffic("a", Collective::all_reduce, {{0, 4}}),
                                 world.traffic("b", Collective::all_reduce, {{1, 5}})});
  check_slow_downs(found, 1, 1);
  CHECK(found.encounters.front().shared.size() == 1);
}

TEST_CASE("groups in different nodes do not meet", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto found = world.meet({world.traffic("a", Collective::all_reduce, {{0, 1, 2, 3}}),
                                 world.traffic("b", Collective::all_gather, {{4, 5, 6, 7}})});
  CHECK(found.slow_down(0, 1) == 1);
  CHECK(found.slow_down(1, 0) == 1);
  CHECK(found.encounters.front().shared.empty());
  CHECK(found.encounters.front().one_together == found.traffic[0].alone);
}

TEST_CASE("groups inside a node do not disturb each other on a switch", "[comm]") {
  World world({.gpus = {8}});
  const auto found =
      world.meet({world.traffic("tp", Collective::all_reduce, {{0, 1}, {2, 3}, {4, 5}, {6, 7}})});
  CHECK(found.slow_down(0, 0) == Approx(1).epsilon(1e-9));
  CHECK(found.traffic[0].groups == 4);
  CHECK(found.encounters.empty());
}

TEST_CASE("groups of one kind wait for each other where they share a NIC", "[comm]") {
  World world({.gpus = {4, 4}, .one_nic = true});
  const auto found = world.meet({world.traffic("dp", Collective::all_reduce, pairs)});
  CHECK(found.slow_down(0, 0) == Approx(4).epsilon(1e-4));
}

TEST_CASE("an all-to-all across nodes takes as many shares of a NIC as it has flows", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto found = world.meet({world.traffic("ep", Collective::all_to_all, {ranks(8)}),
                                 world.traffic("dp", Collective::all_reduce, pairs)});
  // Four flows of each rank leave its node beside the one of its ring.
  check_slow_downs(found, 5.0 / 4, 5);
}

TEST_CASE("what goes through several phases disturbs only in some", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto found = world.meet(
      {world.traffic("tp", Collective::all_gather, {ranks(4), ranks(4, 4)}),
       world.traffic("dp", Collective::all_reduce, {ranks(8)}, S, Algorithm::hierarchical)});
  // Inside nodes 2 x 3/4 of the bytes go over NVLink, 1/4 over NICs: seconds of each phase, by S.
  const double within = 2 * 0.75 / nvlink;
  const double across = 0.25 / nic;
  const double speed = (within * 0.5 + across) / (within + across);
  CHECK(found.slow_down(0, 1) == Approx(1 / speed).epsilon(1e-4));
  const double slowed = (2 * within + across) / (within + across);
  CHECK(found.slow_down(1, 0) == Approx(slowed).epsilon(1e-4));
}

TEST_CASE("latency is no slower beside others", "[comm]") {
  World world({.gpus = {4, 4}});
  const auto found = world.meet({world.traffic("small", Collective::send_recv, {{0, 4}}, 1000),
                                 world.traffic("large", Collective::all_reduce, {{0, 4}})});
  CHECK(found.slow_down(0, 1) == Approx((outside + 2 * 1000 / nic) / (outside + 1000 / nic)));
}

TEST_CASE("each two kinds meet once, in any order alike", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 15});
  const auto a = world.traffic("a", Collective::all_reduce, {ranks(8)});
  const auto b = world.traffic("b", Collective::all_to_all, {ranks(8)}, S / 2);
  const auto c = world.traffic("c", Collective::send_recv, pairs, S / 8);
  const auto one = world.meet({a, b, c});
  const auto other = world.meet({c, b, a});
  CHECK(one.encounters.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(one.slow_down(i, j) == Approx(other.slow_down(2 - i, 2 - j)).epsilon(1e-6));
      CHECK(one.slow_down(i, j) > 1 - 1e-9);
    }
}
