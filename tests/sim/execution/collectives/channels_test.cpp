#include <array>
#include <set>
#include <utility>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/execution/collectives/algorithms.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;

namespace {

// Four GPUs in a square with cables 0-1, 1-3, 3-2 and 2-0; GPUs at opposite corners are connected
// over a slow bus.
constexpr auto square = R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="node" routing="Full">
<host id="gpu-0" speed="1Gf"/><host id="gpu-1" speed="1Gf"/>
<host id="gpu-2" speed="1Gf"/><host id="gpu-3" speed="1Gf"/>
<link id="a" bandwidth="20GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="b" bandwidth="20GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="c" bandwidth="20GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="d" bandwidth="20GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="bus" bandwidth="4GBps" latency="3us" sharing_policy="SPLITDUPLEX"/>
<route src="gpu-0" dst="gpu-1"><link_ctn id="a" direction="UP"/></route>
<route src="gpu-1" dst="gpu-3"><link_ctn id="b" direction="UP"/></route>
<route src="gpu-3" dst="gpu-2"><link_ctn id="c" direction="UP"/></route>
<route src="gpu-2" dst="gpu-0"><link_ctn id="d" direction="UP"/></route>
<route src="gpu-0" dst="gpu-3"><link_ctn id="bus" direction="UP"/></route>
<route src="gpu-1" dst="gpu-2"><link_ctn id="bus" direction="UP"/></route>
</zone></platform>)";

cluster::Cluster make_square() {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write("square.xml", square));
}

// Makes a cluster whose nodes have a link of `rate` GB/s between any two GPUs, and a NIC of 50 GB/s
// per GPU to other nodes.
template <class Rate>
cluster::Cluster wired(int gpus, int nodes, const Rate& rate) {
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version='4.1'><zone id='all' routing='Full'>\n";
  std::string links;
  std::string routes;
  const auto add_link = [&](const std::string& name, double gigabytes_per_s) {
    links += fmt::format(
        "<link id='{}' bandwidth='{}GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n", name,
        gigabytes_per_s);
  };
  const auto add_route = [&](int a, int b, const std::string& through) {
    routes += fmt::format("<route src='gpu-{}' dst='gpu-{}'>{}</route>\n", a, b, through);
  };
  const auto through = [](const std::string& name, const char* direction) {
    return fmt::format("<link_ctn id='{}' direction='{}'/>", name, direction);
  };
  for (int a = 0; a < gpus * nodes; ++a) {
    text += fmt::format("<host id='gpu-{}' speed='1Gf'><prop id='node' value='{}'/></host>\n", a,
                        a / gpus);
    if (nodes > 1) add_link(fmt::format("nic-{}", a), 50);
    for (int b = a + 1; b < gpus * nodes; ++b) {
      const std::string name = fmt::format("{}-{}", a, b);
      if (a / gpus == b / gpus) {
        add_link(name, rate(a % gpus, b % gpus));
        add_route(a, b, through(name, "UP"));
      } else {
        add_route(
            a, b,
            through(fmt::format("nic-{}", a), "UP") + through(fmt::format("nic-{}", b), "DOWN"));
      }
    }
  }
  const config::test::Folder folder;
  return cluster::Cluster::load(
      folder.write("wired.xml", text + links + routes + "</zone></platform>"));
}
cluster::Cluster mesh(int gpus, int nodes = 1) {
  return wired(gpus, nodes, [](int, int) { return 48; });
}

// Counts the different directed pairs of neighbours in the paths.
std::size_t distinct_hops(const std::vector<Members>& paths, bool closed) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> hops;
  for (const Members& path : paths)
    for (std::size_t i = 0; i + (closed ? 0 : 1) < path.size(); ++i)
      hops.emplace(path[i], path[(i + 1) % path.size()]);
  return hops.size();
}

}  // namespace

TEST_CASE("eight GPUs with a link between any two have seven rings", "[collectives]") {
  auto cluster = mesh(8);
  const RankPlacement placement(cluster, cluster.gpus());
  std::vector<Members> rings;
  for (const auto& channel : execution::channels_in_node(ranks(8), placement)) {
    CHECK(channel.share == Approx(1. / 7));
    rings.push_back(channel.ranks);
  }
  CHECK(rings.size() == 7);
  CHECK(distinct_hops(rings, true) == 56);  // both directions of 28 links, once each
  const double S = 800e6;
  const auto phases = plan(Collective::all_reduce, S, ranks(8), Algorithm::ring, placement);
  CHECK(simulate_all(placement, {phases})[0] ==
        Approx(14e-6 + 2 * S * 7 / 8 / (7 * 48e9)).epsilon(1e-6));
}

TEST_CASE("six GPUs with a link between any two have four disjoint rings", "[collectives]") {
  auto cluster = mesh(6);  // Bermond and Faber 1976
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(execution::channels_in_node(ranks(6), placement).size() == 4);
}

TEST_CASE("rings over meshes go through each node by disjoint paths", "[collectives]") {
  auto cluster = mesh(8, 2);
  const RankPlacement placement(cluster, cluster.gpus());
  const Members node = ranks(8);
  const auto paths = execution::paths_through(node, placement);
  CHECK(paths[0] == Members{0, 1, 7, 2, 6, 3, 5, 4});
  CHECK(distinct_hops(paths, false) == 56);
  // A node's NICs carry 8 x 50 GB/s, more than the 8 x 48 GB/s that the links between GPUs allow.
  const double S = 8e9;
  const auto phases = plan(Collective::all_reduce, S, ranks(16), Algorithm::ring, placement);
  CHECK(simulate_all(placement, {phases})[0] == Approx(2 * S * 15 / 16 / (8 * 48e9)).epsilon(1e-3));
}

TEST_CASE("rings follow the cables in both directions", "[collectives]") {
  auto cluster = make_square();
  const RankPlacement placement(cluster, cluster.gpus());
  const auto channels = execution::channels_in_node({0, 1, 2, 3}, placement);
  REQUIRE(channels.size() == 2);  // a third one would need the bus
  CHECK(channels[0].ranks == Members{0, 1, 3, 2});
  CHECK(channels[1].ranks == Members{0, 2, 3, 1});
  CHECK(channels[0].share == 0.5);
  CHECK(channels[1].share == 0.5);

  const double S = 80e6;
  const auto phases = plan(Collective::all_reduce, S, ranks(4), Algorithm::ring, placement);
  const double expected = 6e-6 + 2 * S * 3 / 4 / 40e9;
  CHECK(execution::uncontended_seconds(phases, placement) == Approx(expected).epsilon(1e-6));
  CHECK(simulate_all(placement, {phases})[0] == Approx(expected).epsilon(1e-6));
}

TEST_CASE("behind a switch there is one ring in order", "[collectives]") {
  auto cluster = make_cluster({{8}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto channels = execution::channels_in_node(ranks(8), placement);
  REQUIRE(channels.size() == 1);
  CHECK(channels[0].ranks == ranks(8));
  CHECK(channels[0].share == 1);
}

TEST_CASE("a hybrid cube mesh carries three rings in each direction", "[collectives]") {
  // NVLinks of a DGX-1 with V100, as `nvidia-smi topo -m` shows them; 0: connected over the
  // processors.
  constexpr std::array<std::array<int, 8>, 8> nvlinks{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                       {1, 0, 2, 1, 0, 2, 0, 0},
                                                       {1, 2, 0, 2, 0, 0, 1, 0},
                                                       {2, 1, 2, 0, 0, 0, 0, 1},
                                                       {2, 0, 0, 0, 0, 1, 1, 2},
                                                       {0, 2, 0, 0, 1, 0, 2, 1},
                                                       {0, 0, 1, 0, 1, 2, 0, 2},
                                                       {0, 0, 0, 1, 2, 1, 2, 0}}};
  const auto cluster = wired(8, 1, [&](int a, int b) {
    const int count = nvlinks.at(a).at(b);
    return count > 0 ? 24 * count : 10;
  });
  const RankPlacement placement(cluster, cluster.gpus());

  // One ring consists of the pairs with two links, another of pairs with one link. Together they
  // carry 3 x 24 GB/s in each direction.
  const auto channels = execution::channels_in_node(ranks(8), placement);
  REQUIRE(channels.size() == 4);
  CHECK(channels[0].ranks == Members{0, 3, 2, 1, 5, 6, 7, 4});
  CHECK(channels[2].ranks == Members{0, 1, 3, 7, 5, 4, 6, 2});
  CHECK(channels[0].share == Approx(1. / 3));
  CHECK(channels[3].share == Approx(1. / 6));
  const double S = 800e6;
  const auto phases = plan(Collective::all_reduce, S, ranks(8), Algorithm::ring, placement);
  const double expected = 14e-6 + 2 * S * 7 / 8 / 144e9;
  CHECK(execution::uncontended_seconds(phases, placement) == Approx(expected).epsilon(1e-6));
  CHECK(simulate_all(placement, {phases})[0] == Approx(expected).epsilon(1e-6));
}
