#include "sim/execution/collectives/nccl.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/execution/collectives/least_time.hpp"
#include "sim/execution/exposed_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests the times that NCCL itself estimates, against values computed by hand from
// src/graph/tuning.cc of each version.

using namespace pipewright;
using namespace pipewright::tests;
using cluster::Protocol;
using execution::nccl_seconds;
using execution::NcclView;

namespace {

constexpr double us = 1e-6;

// Inputs of NCCL's estimate: eight H100 on NVSwitches, or several such nodes with 376 GB/s of NICs
// each.
NcclView h100(std::uint32_t version, double nodes = 1) {
  return {.version = version,
          .generation = 4,
          .ranks = 8 * nodes,
          .nodes = nodes,
          .bus_bandwidth = nodes > 1 ? 376e9 : 370e9,
          .gpu_bandwidth = 370e9};
}
NcclView two_a100_nodes(std::uint32_t version) {
  return {.version = version,
          .generation = 3,
          .ranks = 16,
          .nodes = 2,
          .bus_bandwidth = 192e9,
          .gpu_bandwidth = 230e9};
}

double ring(Protocol protocol, double bytes, const NcclView& view) {
  return nccl_seconds(Collective::all_reduce, {Algorithm::ring, protocol}, bytes, view);
}
double tree(Protocol protocol, double bytes, const NcclView& view) {
  return nccl_seconds(Collective::all_reduce, {Algorithm::tree, protocol}, bytes, view);
}
double nvls(double bytes, const NcclView& view) {
  return nccl_seconds(Collective::all_reduce, {Algorithm::nvls, Protocol::simple}, bytes, view);
}

const std::vector<std::pair<std::string, std::string>> protocols_of_nccl{
    {"nvlink.generation", "3"},
    {"nvlink.ll-efficiency", "0.9"},
    {"nvlink.ll-latency", "0.1"},
    {"nvlink.ll128-efficiency", "0.9"}};

std::string choice(const cluster::Cluster& cluster, Collective kind, double bytes, int ranks) {
  const RankPlacement placement(cluster, cluster.gpus());
  return execution::to_string(
      execution::choose(kind, bytes, tests::ranks(ranks), Algorithm::automatic, placement));
}

}  // namespace

TEST_CASE("NCCL estimates a ring by base latency, steps, and bytes over bus bandwidth", "[nccl]") {
  const double S = 80e6;
  CHECK(ring(Protocol::simple, S, h100(27)) == Approx((8.4 + 14 * 3.4) * us + S * 14 / 8 / 370e9));
  CHECK(ring(Protocol::ll128, S, h100(27)) ==
        Approx((14 + 14 * 1.9) * us + S * 14 / 8 / (0.92 * 370e9)));
  // NCCL before 2.21 limited the bandwidth of LL on H100 nodes as on A100, and to a quarter of the
  // bus.
  CHECK(ring(Protocol::ll, S, h100(27)) == Approx((6.6 + 14 * 0.6) * us + S * 14 / 8 / 141e9));
  CHECK(ring(Protocol::ll, S, h100(20)) == Approx((6.6 + 14 * 0.6) * us + S * 14 / 8 / 87.7e9));
}

TEST_CASE("over two nodes of A100 NCCL prefers rings while trees have hops of 28 us", "[nccl]") {
  const double S = 0x1p28;  // at this size trees reach 0.9 of their maximum bandwidth
  // A ring has 30 steps, of which NCCL 2.22 counts 4 as network steps and 2.27 counts 2. Latencies
  // of long rings are multiplied by 1.4.
  CHECK(ring(Protocol::simple, S, two_a100_nodes(22)) ==
        Approx(1.4 * (8.4 + 26 * 3.4 + 4 * 14) * us + S * 30 / 16 / 192e9));
  CHECK(ring(Protocol::simple, S, two_a100_nodes(27)) ==
        Approx(1.4 * (8.4 + 28 * 3.4 + 2 * 14) * us + S * 30 / 16 / 192e9));
  // In a tree, bytes cross the links inside a node twice, but those between two nodes only once.
  const double bytes = S / (0.5 * 0.92 * 0.9 * 230e9);
  CHECK(tree(Protocol::simple, S, two_a100_nodes(22)) == Approx(2 * 8 * 28 * us + bytes));
  CHECK(tree(Protocol::simple, S, two_a100_nodes(27)) ==
        Approx((8.4 + 2 * (7 * 4 + 14)) * us + bytes));
  for (const double size : {16e6, 64e6, 256e6})
    CHECK(ring(Protocol::simple, size, two_a100_nodes(22)) <
          tree(Protocol::simple, size, two_a100_nodes(22)));
  CHECK(tree(Protocol::simple, 8e9, two_a100_nodes(22)) <
        ring(Protocol::simple, 8e9, two_a100_nodes(22)));
  CHECK(tree(Protocol::simple, 16e6, two_a100_nodes(27)) <
        ring(Protocol::simple, 16e6, two_a100_nodes(27)));
}

TEST_CASE("reduction in switches has an efficiency per generation since 2.28", "[nccl]") {
  const double S = 80e6;
  CHECK(nvls(S, h100(20)) == Approx(23 * us + S / (370e9 * 5 / 6)));
  CHECK(nvls(S, h100(27)) == Approx(25 * us + S / (370e9 * 5 / 6)));
  CHECK(nvls(S, h100(28)) == Approx(25 * us + S / (2 * 0.85 * 15 / 16 * 370e9 * 8 / 14)));
  NcclView b200 = h100(29);
  b200.generation = 5;
  CHECK(nvls(S, b200) == Approx(25 * us + S / (2 * 0.74 * 15 / 16 * 370e9 * 8 / 14)));
  // NVLS does not exist for two GPUs, nor on A100.
  NcclView pair = h100(27);
  pair.ranks = 2;
  CHECK(std::isinf(nvls(S, pair)));
  CHECK(std::isinf(nvls(S, two_a100_nodes(27))));
}

TEST_CASE("trees of switches over nodes cross each level twice", "[nccl]") {
  const double S = 800e6;
  CHECK(nvls(S, h100(18, 4)) == Approx((23 + 2 * 3 * 19) * us + S / (370e9 * 0.7 * 4 / (2 * 3))));
  CHECK(nvls(S, h100(27, 4)) == Approx((25 + 2 * 2 * 14) * us + S / (376e9 / 2 * 5 / 6)));
  CHECK(nvls(S, h100(29, 4)) == Approx((25 + 2 * 2 * 20.9) * us + S / (376e9 * 32 / 62)));
}

TEST_CASE("NCCL's model chooses if the cluster file states its version, even a slower protocol",
          "[nccl]") {
  // LL has 0.9 of Simple's bandwidth here and a tenth of its latency, but NCCL's own model stops
  // choosing it at some size.
  auto properties = protocols_of_nccl;
  properties.emplace_back("collective.nccl", "2.27.3");
  auto cluster = make_cluster({{8, 8}, 0, false, properties});
  CHECK(cluster.nccl() == 27U);
  CHECK(choice(cluster, Collective::all_gather, 8e3, 8) == "ring, LL");
  // An all-gather over 4 ranks has 3 steps. LL takes 6.6 + 1.8 us and Simple 8.4 + 10.2 us, but LL
  // has half of the bandwidth, so it wins up to 1.36 MB.
  CHECK(choice(cluster, Collective::all_gather, 1.2e6, 4) == "ring, LL");
  CHECK(choice(cluster, Collective::all_gather, 1.5e6, 4) == "ring, Simple");
  // An all-to-all uses LL for messages of up to 16 KiB per rank.
  CHECK(choice(cluster, Collective::all_to_all, 8 * 16384, 8) == "direct, LL");
  CHECK(choice(cluster, Collective::all_to_all, 8 * 16385, 8) == "direct, Simple");
  const RankPlacement placement(cluster, cluster.gpus());
  for (const double bytes : {8e3, 1.2e6, 1.5e6, 80e6}) {
    const auto phases =
        execution::plan(Collective::all_gather, bytes, ranks(4), Algorithm::automatic, placement);
    const execution::LeastTime bound(Collective::all_gather, {ranks(4)}, Algorithm::automatic,
                                     placement, false);
    CHECK(bound.seconds(static_cast<std::uint64_t>(bytes)) ==
          Approx(execution::uncontended_seconds(phases, placement)));
  }
  cluster.set_nccl(18);
  // With NCCL 2.18, LL has a third of the bandwidth, so it wins only up to 0.68 MB.
  CHECK(choice(cluster, Collective::all_gather, 0.6e6, 4) == "ring, LL");
  CHECK(choice(cluster, Collective::all_gather, 0.75e6, 4) == "ring, Simple");
}

TEST_CASE("Simple adds a launch, and a GPU's copy of its own part counts as a message", "[nccl]") {
  auto cluster = make_cluster({{8},
                               0,
                               false,
                               {{"collective.simple-launch", "3us"},
                                {"collective.direct-ends", "0.5"},
                                {"collective.message", "2.5us"},
                                {"nvlink.message", "0.2us"}}});
  const RankPlacement placement(cluster, cluster.gpus());
  const double S = 80e6;
  const auto all_to_all =
      execution::plan(Collective::all_to_all, S, ranks(8), Algorithm::automatic, placement);
  CHECK(execution::uncontended_seconds(all_to_all, placement) ==
        Approx(3 * us + inside + 6 * 0.2 * us + 7.5 * S / 8 / nvlink));
  const auto ring_of_8 =
      execution::plan(Collective::all_gather, S, ranks(8), Algorithm::ring, placement);
  CHECK(execution::uncontended_seconds(ring_of_8, placement) ==
        Approx(3 * us + 7 * inside + 7 * S / 8 / nvlink));
}
