#include <array>

#include <catch2/catch.hpp>

#include "sim/execution/collectives/algorithms.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;

namespace {

// Four GPUs on a square of cables: 0-1, 1-3, 3-2 and 2-0; the diagonals go over a slow bus.
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

}  // namespace

TEST_CASE("rings go round where the cables are, both ways", "[collectives]") {
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
  CHECK(execution::alone(phases, placement) == Approx(expected).epsilon(1e-6));
  CHECK(simulate_all(placement, {phases})[0] == Approx(expected).epsilon(1e-6));
}

TEST_CASE("behind a switch one ring in order takes all", "[collectives]") {
  auto cluster = make_cluster({{8}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto channels = execution::channels_in_node(ranks(8), placement);
  REQUIRE(channels.size() == 1);
  CHECK(channels[0].ranks == ranks(8));
  CHECK(channels[0].share == 1);
}

TEST_CASE("a hybrid cube mesh carries three rings each way", "[collectives]") {
  // NVLinks of a DGX-1 with V100, as `nvidia-smi topo -m` shows them; 0: over the processors.
  constexpr std::array<std::array<int, 8>, 8> nvlinks{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                       {1, 0, 2, 1, 0, 2, 0, 0},
                                                       {1, 2, 0, 2, 0, 0, 1, 0},
                                                       {2, 1, 2, 0, 0, 0, 0, 1},
                                                       {2, 0, 0, 0, 0, 1, 1, 2},
                                                       {0, 2, 0, 0, 1, 0, 2, 1},
                                                       {0, 0, 1, 0, 1, 2, 0, 2},
                                                       {0, 0, 0, 1, 2, 1, 2, 0}}};
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version='4.1'><zone id='node' routing='Full'>\n";
  std::string links;
  std::string routes;
  for (int a = 0; a < 8; ++a) {
    text += fmt::format("<host id='gpu-{}' speed='1Gf'/>\n", a);
    for (int b = a + 1; b < 8; ++b) {
      const int count = nvlinks[a][b];
      links += fmt::format(
          "<link id='{0}-{1}' bandwidth='{2}GBps' latency='1us' "
          "sharing_policy='SPLITDUPLEX'/>\n",
          a, b, count > 0 ? 24 * count : 10);
      routes += fmt::format(
          "<route src='gpu-{0}' dst='gpu-{1}'>"
          "<link_ctn id='{0}-{1}' direction='UP'/></route>\n",
          a, b);
    }
  }
  const config::test::Folder folder;
  const auto cluster = cluster::Cluster::load(
      folder.write("mesh.xml", text + links + routes + "</zone></platform>"));
  const RankPlacement placement(cluster, cluster.gpus());

  // The pairs with two links make one ring, those with one make another: 3 x 24 GB/s each way.
  const auto channels = execution::channels_in_node(ranks(8), placement);
  REQUIRE(channels.size() == 4);
  CHECK(channels[0].ranks == Members{0, 3, 2, 1, 5, 6, 7, 4});
  CHECK(channels[2].ranks == Members{0, 1, 3, 7, 5, 4, 6, 2});
  CHECK(channels[0].share == Approx(1. / 3));
  CHECK(channels[3].share == Approx(1. / 6));
  const double S = 800e6;
  const auto phases = plan(Collective::all_reduce, S, ranks(8), Algorithm::ring, placement);
  const double expected = 14e-6 + 2 * S * 7 / 8 / 144e9;
  CHECK(execution::alone(phases, placement) == Approx(expected).epsilon(1e-6));
  CHECK(simulate_all(placement, {phases})[0] == Approx(expected).epsilon(1e-6));
}
