#include <cmath>

#include <catch2/catch.hpp>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/text/library.hpp"
#include "sim/execution/collectives/least_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Collectives on machines of the library, against public tables of nccl-tests and the arithmetic of
// their links.

using namespace pipewright;
using namespace pipewright::tests;
using cluster::Protocol;

namespace {

constexpr double mib = 0x1p20;
constexpr double gib = 0x1p30;

// A cluster of `nodes` nodes of a kind of the library.
cluster::Cluster make(const char* kind, std::uint32_t nodes) {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write(
      "made.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind(kind), nodes}}})));
}

// The first `ranks` GPUs of each node.
RankPlacement place(const cluster::Cluster& cluster, std::uint32_t ranks) {
  std::vector<cluster::Host*> hosts;
  for (cluster::Host* const gpu : cluster.gpus())
    if (gpu->local_index < ranks) hosts.push_back(gpu);
  return {cluster, hosts};
}

double time_of(const RankPlacement& placement, Collective kind, double bytes) {
  return execution::LeastTime(kind, {ranks(placement.size())}, Algorithm::automatic, placement,
                              false)
      .seconds(static_cast<std::uint64_t>(bytes));
}
std::string method(const RankPlacement& placement, Collective kind, double bytes) {
  return execution::to_string(
      execution::choose(kind, bytes, ranks(placement.size()), Algorithm::automatic, placement));
}

}  // namespace

TEST_CASE("all-reduces over two racks of 64 GB200 use trees and rings", "[machines]") {
  cluster::Cluster cluster = make("gb200-nvl72", 2);
  cluster.set_nccl(29);
  const RankPlacement racks = place(cluster, 64);
  // A public table has 395 us, 976 us and 25.8 ms. A tree by LL128 crosses 63 hops of NVLinks up
  // and 63 down; a ring passes on 2 x 127/128 of the bytes over NVLinks of 677 GB/s.
  CHECK(method(racks, Collective::all_reduce, 16 * mib) == "tree, LL128");
  CHECK(time_of(racks, Collective::all_reduce, 16 * mib) == Approx(395e-6).epsilon(0.15));
  CHECK(time_of(racks, Collective::all_reduce, 128 * mib) == Approx(976e-6).epsilon(0.2));
  CHECK(method(racks, Collective::all_reduce, 8 * gib) == "ring, Simple");
  CHECK(time_of(racks, Collective::all_reduce, 8 * gib) ==
        Approx(8 * gib * 2 * 127 / 128 / 677e9).epsilon(0.05));
}

TEST_CASE("an all-to-all over two racks of GB300 reaches a quarter of its NICs", "[machines]") {
  const cluster::Cluster cluster = make("gb300-nvl72", 2);
  const RankPlacement racks = place(cluster, 64);
  // Half of the bytes of a GPU leave its rack over a NIC of 94 GB/s. A public table has 357.6 ms.
  CHECK(time_of(racks, Collective::all_to_all, 16 * gib) ==
        Approx(16 * gib / 2 / (94e9 * 0.256)).epsilon(0.01));
  // Inside a rack, each GPU sends three of four parts over NVLinks, and copies its own part in half
  // of a part's time. A public table has 20.5 ms, and 18.9 ms without the copy.
  const RankPlacement tray(cluster, {cluster.gpus().begin(), cluster.gpus().begin() + 4});
  CHECK(time_of(tray, Collective::all_to_all, 16 * gib) ==
        Approx(16 * gib / 4 * 3.5 / 677e9).epsilon(0.01));
}

TEST_CASE("large all-reduces over two nodes of eight A100 use rings", "[machines]") {
  cluster::Cluster cluster = make("a100-roce", 2);
  cluster.set_nccl(29);
  const RankPlacement nodes = place(cluster, 8);
  // Public tables have 183 to 190 GB/s of bus bandwidth: the rings' eight NICs of 24 GB/s.
  CHECK(method(nodes, Collective::all_reduce, 8 * gib) == "ring, Simple");
  CHECK(time_of(nodes, Collective::all_reduce, 8 * gib) ==
        Approx(8 * gib * 2 * 15 / 16 / (8 * 24e9)).epsilon(0.02));
}

TEST_CASE("NCCL 2.27 sums in NVSwitches over 12 nodes of eight H100", "[machines]") {
  cluster::Cluster cluster = make("dgx-h100", 12);
  cluster.set_nccl(27);
  const RankPlacement nodes = place(cluster, 8);
  for (const double bytes : {16 * mib, 64 * mib, 256 * mib})
    CHECK(method(nodes, Collective::all_reduce, bytes) == "nvls, Simple");
}

TEST_CASE("LL passes 5 GB/s of a NIC", "[machines]") {
  for (const auto& [kind, efficiency] :
       {std::pair{"dgx-h100", 5.0 / 49}, std::pair{"gb300-nvl72", 5.0 / 94},
        std::pair{"p4d-efa", 5 / 11.5}}) {
    const cluster::Cluster cluster = make(kind, 2);
    CAPTURE(kind);
    CHECK(cluster.model()
              .of("nic")
              .per_protocol[static_cast<std::size_t>(Protocol::ll)]
              ->efficiency == Approx(efficiency).epsilon(0.02));
  }
}
