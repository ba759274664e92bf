#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/execution/collectives/algorithms.hpp"
#include "sim/execution/collectives/least_time.hpp"
#include "sim/execution/exposed_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests times of collectives with protocols and reducing switches, in closed form and in SimGrid.

using namespace pipewright;
using namespace pipewright::tests;

namespace {

constexpr double us = 1e-6;

double seconds(cluster::Cluster& cluster, Collective kind, double bytes, const Members& members,
               Algorithm algorithm) {
  const RankPlacement placement(cluster, cluster.gpus());
  return execution::simulate_alone(cluster, placement,
                                   {{execution::plan(kind, bytes, members, algorithm, placement)}})
      .front();
}

std::string choice(const cluster::Cluster& cluster, double bytes, const Members& members) {
  const RankPlacement placement(cluster, cluster.gpus());
  return execution::to_string(
      execution::choose(Collective::all_reduce, bytes, members, Algorithm::automatic, placement));
}

const std::vector<std::pair<std::string, std::string>> all_protocols{
    {"collective.launch", "10us"},   {"collective.ll128-launch", "1us"},
    {"nvlink.ll-latency", "0.2"},    {"nvlink.ll-efficiency", "0.4"},
    {"nvlink.ll128-latency", "0.5"}, {"nvlink.ll128-efficiency", "0.9"},
    {"nic.ll-latency", "0.25"},      {"nic.ll-efficiency", "0.1"},
    {"nic.ll128-latency", "0.5"},    {"nic.ll128-efficiency", "0.9"}};

}  // namespace

TEST_CASE("few bytes use LL, more bytes LL128, many bytes Simple", "[protocols]") {
  auto cluster = make_cluster({{8}, 0, false, all_protocols});
  const Members members = ranks(8);
  const auto check = [&](double S, double latency, double efficiency) {
    const double expected = 10 * us + latency + 2 * S * 7 / 8 / (nvlink * efficiency);
    CHECK(seconds(cluster, Collective::all_reduce, S, members, Algorithm::ring) ==
          Approx(expected).epsilon(1e-6));
  };
  check(8000, 14 * inside * 0.2, 0.4);
  check(2e6, 14 * inside * 0.5 + 1 * us, 0.9);
  check(800e6, 14 * inside, 1);
  CHECK(choice(cluster, 800e6, members) == "ring, Simple");
}

TEST_CASE("flows of LL and LL128 count bytes on the wire", "[protocols]") {
  const auto cluster = make_cluster({{4}, 0, false, all_protocols});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto phases =
      execution::plan(Collective::all_gather, 4000, ranks(4), Algorithm::ring, placement);
  REQUIRE(phases.size() == 1);
  for (const Flow& flow : phases[0].flows) CHECK(flow.bytes == Approx(3000 / 0.4));
}

TEST_CASE("a tree by LL moves its bytes through each level between nodes", "[protocols]") {
  auto cluster = make_cluster({{1, 1, 1, 1}, 0, false, all_protocols});
  // LL takes a quarter of the NICs' 4 us and all of the fabric's 1 us, 2 us per hop. The tree has
  // two levels, up and down.
  CHECK(seconds(cluster, Collective::all_reduce, 8, ranks(4), Algorithm::tree) ==
        Approx(10 * us + 2 * 2 * 2 * us).epsilon(5e-3));
}

TEST_CASE("the ends of a ring cost a fraction of a step for any number of ranks", "[protocols]") {
  auto cluster = make_cluster({{8}, 0, false, {{"collective.ring-ends", "0.5"}}});
  const double S = 560e6;
  for (const std::uint32_t n : {2U, 4U, 8U})
    CHECK(seconds(cluster, Collective::all_reduce, S, ranks(n), Algorithm::ring) ==
          Approx(2 * (n - 1) * inside + (2 * (n - 1) + 0.5) * S / n / nvlink).epsilon(1e-6));
}

TEST_CASE("messages of one GPU to several others are separated by gaps", "[protocols]") {
  auto cluster = make_cluster({{4, 4}, 0, false, {{"collective.message", "3us"}}});
  const double S = 8e6;
  CHECK(seconds(cluster, Collective::all_to_all, S, ranks(8), Algorithm::direct) ==
        Approx(outside + 6 * 3 * us + S / 8 * 4 / nic).epsilon(1e-6));
  // If each GPU sends only one message, there is no gap between messages.
  CHECK(seconds(cluster, Collective::send_recv, S, ranks(8), Algorithm::automatic) ==
        Approx(outside + S / nic).epsilon(1e-6));
  CHECK(seconds(cluster, Collective::pairwise, S, ranks(8), Algorithm::automatic) ==
        Approx(outside + S / nic).epsilon(1e-6));
}

TEST_CASE("a broadcast passes all bytes along the ring, starting at its root", "[protocols]") {
  auto cluster = make_cluster({{4}, 0, false, {{"collective.step", "1us"}}});
  const double S = 100e6;
  CHECK(seconds(cluster, Collective::broadcast, S, {2, 0, 1, 3}, Algorithm::automatic) ==
        Approx(3 * (inside + 1 * us) + S / nvlink).epsilon(1e-6));
}

TEST_CASE("reduction in NVSwitches makes each GPU send and receive once", "[protocols]") {
  auto cluster = make_cluster(
      {{8, 8}, 0, false, {{"nvlink.sharp-latency", "20us"}, {"nvlink.sharp-efficiency", "0.8"}}});
  const double S = 800e6;
  CHECK(seconds(cluster, Collective::all_reduce, S, ranks(8), Algorithm::nvls) ==
        Approx(20 * us + S * (1 + 1.0 / 8) / (nvlink * 0.8)).epsilon(1e-6));
  CHECK(choice(cluster, S, ranks(8)) == "nvls, Simple");
  CHECK(choice(cluster, 800, ranks(4)) == "ring, Simple");  // no better for few bytes
  // With two nodes, the NIC of each GPU carries an eighth of the bytes, half of it in each of two
  // trees, up and down.
  CHECK(seconds(cluster, Collective::all_reduce, S, ranks(16), Algorithm::nvls) ==
        Approx(20 * us + 2 * outside + std::max(S * (1 + 1.0 / 8) / (nvlink * 0.8), S / 8 / nic) +
               // Chunks of 128 KiB, of 16 channels and 8 GPUs, cross the switches and two NICs.
               0x1p24 * (std::max((1 + 1.0 / 8) / (nvlink * 0.8), 1.0 / 8 / nic) + 2.0 / 8 / nic))
            .epsilon(1e-6));
  // NVLS over nodes needs equally many GPUs per node, but here one node has two ranks and the other
  // one.
  CHECK(choice(cluster, S, {0, 1, 8}) != "nvls, Simple");
}

TEST_CASE("reduction in NVSwitches takes longer with each GPU that sums a part, up to 32",
          "[protocols]") {
  auto cluster = make_cluster({{40},
                               0,
                               false,
                               {{"nvlink.sharp-latency", "20us"},
                                {"nvlink.sharp-gpu-latency", "3us"},
                                {"nvlink.sharp-efficiency", "1"}}});
  for (const auto& [gpus, parts] : {std::pair{8U, 8}, std::pair{40U, 32}})
    CHECK(seconds(cluster, Collective::all_reduce, 8e6, ranks(gpus), Algorithm::nvls) ==
          Approx(20 * us + parts * 3 * us + 8e6 * (1 + 1.0 / gpus) / nvlink).epsilon(1e-6));
}

TEST_CASE("direct messages of many ranks reach a fraction of a fabric's bandwidth", "[protocols]") {
  auto cluster = make_cluster({{4, 4}, 0, false, {{"nic.direct-efficiency", "0.25"}}});
  const double S = 80e6;
  // Of the eight parts of a rank, four cross its NIC.
  CHECK(seconds(cluster, Collective::all_to_all, S, ranks(8), Algorithm::direct) ==
        Approx(outside + S * 4 / 8 / (nic * 0.25)).epsilon(1e-6));
  CHECK(seconds(cluster, Collective::all_to_all, S, ranks(4), Algorithm::direct) ==
        Approx(inside + S * 3 / 4 / nvlink).epsilon(1e-6));
  CHECK(seconds(cluster, Collective::pairwise, S, ranks(8), Algorithm::direct) ==
        Approx(outside + S / nic).epsilon(1e-6));
}

TEST_CASE("no step of a ring over nodes is shorter than its messages take to post", "[protocols]") {
  auto cluster = make_cluster({{4, 4}, 0, false, {{"collective.post", "1us"}}});
  // Simple takes three times as long to post; a hop inside a node takes 2 us. The last chunk of the
  // first round is not waited for, since one round carries all bytes.
  const double S = 8e6;
  CHECK(seconds(cluster, Collective::all_gather, S, ranks(8), Algorithm::ring) ==
        Approx(7 * (3 * 3 * us + outside) / 4 + S * 7 / 8 * std::max(0.75 / nvlink, 0.25 / nic))
            .epsilon(1e-6));
  CHECK(seconds(cluster, Collective::all_gather, S, ranks(4), Algorithm::ring) ==
        Approx(3 * inside + S * 3 / 4 / nvlink).epsilon(1e-6));
}

TEST_CASE("a ring over nodes waits for a step at the end of each round", "[protocols]") {
  auto cluster = make_cluster({{1, 1}, 0, false, {{"collective.launch", "1us"}}});
  // Two ranks send chunks of 2 MiB in two channels: 8 MiB a round.
  for (const auto& [bytes, rounds] :
       {std::pair{0x1p22, 0}, std::pair{0x1p25, 3}, std::pair{0x1p32, 16}})
    CHECK(seconds(cluster, Collective::all_gather, bytes, ranks(2), Algorithm::ring) ==
          Approx(us + outside + bytes / 2 / nic + rounds * outside).epsilon(1e-6));
}

TEST_CASE("reduction in switches between nodes makes each NIC send and receive once",
          "[protocols]") {
  auto cluster = make_cluster(
      {{4, 4, 4}, 0, false, {{"nic.sharp-latency", "30us"}, {"nic.sharp-efficiency", "0.9"}}});
  const double S = 800e6;
  CHECK(seconds(cluster, Collective::all_reduce, S, ranks(12), Algorithm::sharp) ==
        Approx(30 * us + 2 * inside + std::max(2 * S * 3 / 4 / nvlink, S / 4 / (nic * 0.9)))
            .epsilon(1e-6));
  // A collective inside one node does not cross switches between nodes, so they cannot reduce for
  // it.
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(execution::choose(Collective::all_reduce, S, ranks(4), Algorithm::sharp, placement)
            .algorithm == Algorithm::ring);
}

TEST_CASE("bounds and plans take the same time with every protocol", "[protocols]") {
  auto properties = all_protocols;
  for (const char* name : {"nvlink.sharp-efficiency", "nic.sharp-efficiency"})
    properties.emplace_back(name, "0.8");
  properties.emplace_back("collective.ring-ends", "0.4");
  auto cluster = make_cluster({{4, 4}, 0, false, properties});
  const RankPlacement placement(cluster, cluster.gpus());
  for (const auto kind : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all,
                          Collective::broadcast, Collective::reduce, Collective::gather,
                          Collective::scatter, Collective::send_recv, Collective::pairwise})
    for (const Members& members : {ranks(2), ranks(4), ranks(8)}) {
      const execution::LeastTime bound(kind, {members}, Algorithm::automatic, placement, false);
      for (std::uint64_t bytes = 64; bytes < 1U << 31U; bytes *= 3) {
        CAPTURE(static_cast<int>(kind), members.size(), bytes);
        const auto size = static_cast<double>(bytes);
        const auto plan = execution::plan(kind, size, members, Algorithm::automatic, placement);
        CHECK(bound.seconds(bytes) ==
              Approx(execution::uncontended_seconds(plan, placement)).epsilon(1e-9));
        CHECK(bound.seconds(bytes) ==
              Approx(seconds(cluster, kind, size, members, Algorithm::automatic)).epsilon(2e-4));
      }
    }
}
