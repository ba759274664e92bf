#include "sim/cluster/platform/platform_routes.hpp"

#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/checks/bisection.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::Cluster;
using config::Multipath;
using config::MultipathBy;

namespace {

// Two leaves, each with two nodes of one GPU and a NIC of 100 GB/s, below four spines with links of
// 10 GB/s. `nics` is the number of ports per node.
std::string fabric(std::uint32_t nics = 1) {
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='z' routing='None'><zone id='nodes' routing='None'>";
  for (std::uint32_t node = 0; node < 4; ++node)
    text += fmt::format(
        "<zone id='node-{0}' routing='Full'><host id='gpu-{0}' speed='1Tf'><prop id='gpu' "
        "value='x'/><prop id='nic' value='port-[{1}-{2}]'/></host></zone>",
        node, node * nics, node * nics + nics - 1);
  text += "</zone><zone id='fabric' routing='Floyd'>";
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf)
    text += fmt::format(
        "<cluster id='leaf-{0}' prefix='port-' radical='{1}-{2}' suffix='' speed='1f' "
        "bw='100GBps' lat='1us' sharing_policy='SPLITDUPLEX' router_id='leaf-{0}-switch'/>",
        leaf, leaf * 2 * nics, leaf * 2 * nics + 2 * nics - 1);
  for (int spine = 0; spine < 4; ++spine)
    text += fmt::format(
        "<zone id='spine-{0}' routing='None'><router id='spine-{0}-switch'/></zone>", spine);
  for (int leaf = 0; leaf < 2; ++leaf)
    for (int spine = 0; spine < 4; ++spine)
      text += fmt::format(
          "<link id='up-{}-{}' bandwidth='10GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>",
          leaf, spine);
  for (int leaf = 0; leaf < 2; ++leaf)
    for (int spine = 0; spine < 4; ++spine)
      text += fmt::format(
          "<zoneRoute src='leaf-{0}' dst='spine-{1}' gw_src='leaf-{0}-switch' "
          "gw_dst='spine-{1}-switch'><link_ctn id='up-{0}-{1}' direction='UP'/></zoneRoute>",
          leaf, spine);
  return text + "</zone></zone></platform>";
}

std::string query(const std::string& text, const std::function<std::string(Cluster&)>& evaluate,
                  const Multipath& multipath = {}) {
  const tests::CommandFolder place;
  place.write("p.xml", text);
  return tests::in_child([&] {
    Cluster cluster = Cluster::load(place.folder() / "p.xml", {}, multipath);
    return evaluate(cluster);
  });
}

// Describes the route between two GPUs: its bandwidth and latency, and which fraction of a flow
// crosses each link.
std::string route_text(const Cluster& cluster, std::size_t from, std::size_t to) {
  const cluster::Route route = cluster.route(cluster.gpus()[from], cluster.gpus()[to]);
  std::map<std::string, int> times;
  for (const auto* link : route.links) ++times[Cluster::link_name(link)];
  std::string text = fmt::format("{:g} GB/s, {:g} us:", route.bandwidth / 1e9, route.latency * 1e6);
  for (const auto* link : cluster.links())
    if (const auto entry = times.find(Cluster::link_name(link)); entry != times.end())
      text += fmt::format(" {} {}/{}", entry->first, entry->second, cluster.parts_of(link));
  return text;
}

std::string halves(const Cluster& cluster) {
  return fmt::format("{:g}", cluster::bisection(cluster) / 1e9);
}

}  // namespace

TEST_CASE("a flow is spread over all spines, and the bisection uses all of them", "[routes]") {
  CHECK(query(fabric(), [](auto& cluster) { return route_text(cluster, 0, 3); }) ==
        "40 GB/s, 4 us: leaf-0_link_0_UP 1/1 leaf-1_link_3_DOWN 1/1 up-0-0_UP 1/4 up-0-1_UP 1/4 "
        "up-0-2_UP 1/4 up-0-3_UP 1/4 up-1-0_DOWN 1/4 up-1-1_DOWN 1/4 up-1-2_DOWN 1/4 "
        "up-1-3_DOWN 1/4");
  CHECK(query(fabric(), [](auto& cluster) { return halves(cluster); }) == "40");
  CHECK(query(fabric(), [](auto& cluster) { return route_text(cluster, 0, 1); }) ==
        "100 GB/s, 2 us: leaf-0_link_0_UP 1/1 leaf-0_link_1_DOWN 1/1");
}

TEST_CASE("a hash chooses one spine per pair, depending on the seed", "[routes]") {
  const auto spines = [](std::uint32_t seed, std::uint32_t flows) {
    return query(fabric(), [](auto& cluster) { return route_text(cluster, 0, 3); },
                 {.by = MultipathBy::hash, .seed = seed, .flows = flows});
  };
  std::set<std::string> texts;
  for (std::uint32_t seed = 1; seed < 12; ++seed) {
    CHECK_THAT(spines(seed, 1), Catch::StartsWith("10 GB/s, 4 us: leaf-0_link_0_UP 1/1"));
    texts.insert(spines(seed, 1));
  }
  CHECK(texts.size() == 4);
  CHECK(spines(1, 1) == spines(1, 1));
  // If a message is sent as two flows, each carries half of its data.
  const std::string two_flows = spines(1, 2);
  CHECK((two_flows.starts_with("20 GB/s") || two_flows.starts_with("10 GB/s")));
  CHECK_THAT(two_flows, Catch::Contains("/2"));
}

TEST_CASE("traffic avoids a failed spine, and no GPU is cut off", "[routes]") {
  CHECK(query(fabric(),
              [](auto& cluster) {
                cluster.scale_link("spine-2-switch", 0);
                return route_text(cluster, 0, 3) + "; " + halves(cluster);
              }) ==
        "30 GB/s, 4 us: leaf-0_link_0_UP 1/1 leaf-1_link_3_DOWN 1/1 up-0-0_UP 1/3 up-0-1_UP 1/3 "
        "up-0-3_UP 1/3 up-1-0_DOWN 1/3 up-1-1_DOWN 1/3 up-1-3_DOWN 1/3; 30");
  // Once the spine works again, the bisection bandwidth is as before.
  CHECK(query(fabric(), [](auto& cluster) {
          cluster.scale_link("spine-2-switch", 0);
          cluster.scale_link("spine-2-switch", 1);
          return halves(cluster);
        }) == "40");
}

TEST_CASE("a slow cable limits a flow that is spread evenly", "[routes]") {
  // A quarter of the flow crosses the cable that has half of its bandwidth.
  CHECK(query(fabric(),
              [](auto& cluster) {
                cluster.scale_link("up-0-0", 0.5);
                return halves(cluster);
              },
              {.by = MultipathBy::spread}) == "20");
}

TEST_CASE("adaptive routing loads each route by its rate", "[routes]") {
  // Rates of 5, 10, 10 and 10 GB/s carry 1, 2, 2 and 2 sevenths of a flow, which loses nothing: 35
  // GB/s. The cable from spine 0 to the other leaf carries the same seventh.
  CHECK(query(fabric(),
              [](auto& cluster) {
                cluster.scale_link("up-0-0", 0.5);
                return route_text(cluster, 0, 3) + "; " + halves(cluster);
              }) ==
        "35 GB/s, 4 us: leaf-0_link_0_UP 1/1 leaf-1_link_3_DOWN 1/1 up-0-0_UP 1/7 up-0-1_UP 2/7 "
        "up-0-2_UP 2/7 up-0-3_UP 2/7 up-1-0_DOWN 1/7 up-1-1_DOWN 2/7 up-1-2_DOWN 2/7 "
        "up-1-3_DOWN 2/7; 35");
  // A cable that is slow behind the spine counts as well, at the switch that chooses the spine.
  CHECK(query(fabric(), [](auto& cluster) {
          cluster.scale_link("up-1-0", 0.5);
          return halves(cluster);
        }) == "35");
  // After the repair, the flow is divided as before.
  CHECK(query(fabric(), [](auto& cluster) {
          const std::string before = route_text(cluster, 0, 3);
          cluster.scale_link("up-0-0", 0.3);
          cluster.scale_link("up-0-0", 1 / 0.3);
          return route_text(cluster, 0, 3) == before && !cluster.has_faults() ? "" : before;
        }) == "");
}

TEST_CASE("adaptive routing counts on hundredths of a slow link's rate", "[routes]") {
  // A rate of 0.379 counts as 0.37: of 3.37, the three whole links carry 1 each.
  const std::string text = query(fabric(), [](auto& cluster) {
    cluster.scale_link("up-0-0", 0.379);
    return halves(cluster);
  });
  CHECK(std::stod(text) == Approx(33.7).epsilon(1e-3));
}

TEST_CASE("adaptive routing counts parallel cables of different rates", "[routes]") {
  // The cables to spine 3 have three times the rate of the others, from the file: 10 + 10 + 10
  // + 30.
  std::string text = fabric();
  for (const char* cable : {"up-0-3", "up-1-3"}) {
    const std::string before = fmt::format("<link id='{}' bandwidth='10GBps'", cable);
    text.replace(text.find(before), before.size(),
                 fmt::format("<link id='{}' bandwidth='30GBps'", cable));
  }
  CHECK(query(text, [](auto& cluster) { return halves(cluster); }) == "60");
  CHECK(query(text, [](auto& cluster) { return halves(cluster); }, {.by = MultipathBy::spread}) ==
        "40");
}

TEST_CASE("a slow plane carries less, and ECMP does not notice", "[routes]") {
  // 8 nodes with a port in each of 8 planes: with one plane at half rate, 7.5 of 8 are left.
  const cluster::PlatformRequest request{.nodes = {{&cluster::find_node_kind("dgx-h100"), 8}},
                                         .fabric = "rail",
                                         .planes = 8,
                                         .leaf_nodes = 4};
  const auto left = [&](const char* part, const Multipath& multipath) {
    return std::stod(query(
        cluster::make_platform(request),
        [&](auto& cluster) {
          const double before = cluster::bisection(cluster);
          cluster.scale_link(part, 0.5);
          return fmt::format("{}", cluster::bisection(cluster) / before);
        },
        multipath));
  };
  CHECK(left("plane-3", {}) == Approx(7.5 / 8).epsilon(1e-3));
  // The uplink of a leaf, which the ports of four nodes share, counts like a port.
  CHECK(left("leaf-0-3-up", {}) == Approx(7.5 / 8).epsilon(1e-3));
  CHECK(left("plane-3", {.by = MultipathBy::spread}) == Approx(0.5));
}

TEST_CASE("an error names GPUs that are cut off", "[routes]") {
  CHECK(
      query(fabric(), [](auto& cluster) -> std::string {
        cluster.scale_link("port-0", 0);
        try {
          return route_text(cluster, 0, 3);
        } catch (const cluster::Error& error) {
          return error.what();
        }
      }) == "link 'leaf-0_link_0_UP' has failed, and no other route leads from 'gpu-0' to 'gpu-3'");
  CHECK(query(fabric(), [](auto& cluster) -> std::string {
          cluster.scale_link("leaf-1", 0);
          try {
            return route_text(cluster, 0, 3);
          } catch (const cluster::Error& error) {
            return error.what();
          }
        }).ends_with("p.xml: no route leads from 'gpu-0' to 'gpu-3'"));
}

TEST_CASE("a GPU with two NICs sends over both, from port i to port i", "[routes]") {
  // The GPUs have two ports of 100 GB/s. A route within a leaf crosses only ports.
  CHECK(query(fabric(2), [](auto& cluster) { return route_text(cluster, 0, 1); }) ==
        "200 GB/s, 2 us: leaf-0_link_0_UP 1/2 leaf-0_link_1_UP 1/2 leaf-0_link_2_DOWN 1/2 "
        "leaf-0_link_3_DOWN 1/2");
  CHECK(query(fabric(2), [](auto& cluster) {
          cluster.scale_link("port-3", 0);
          return route_text(cluster, 0, 1);
        }) == "100 GB/s, 2 us: leaf-0_link_0_UP 2/2 leaf-0_link_2_DOWN 1/1");
}

TEST_CASE("a torus uses both directions to the opposite side of a ring", "[routes]") {
  // Four hosts form a ring with cables of 10 GB/s, two of which connect the halves.
  const std::string ring =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><cluster id='c' topology='TORUS' topo_parameters='4' prefix='g-' "
      "radical='0-3' suffix='' speed='1Tf' bw='10GBps' lat='1us' sharing_policy='SPLITDUPLEX'>"
      "</cluster></platform>";
  CHECK(query(ring, [](auto& cluster) { return halves(cluster); }) == "20");
  CHECK_THAT(query(ring, [](auto& cluster) { return route_text(cluster, 0, 2); }),
             Catch::StartsWith("20 GB/s, 2 us:"));
}

TEST_CASE("among paths with the fewest links, the one with the least latency is used", "[routes]") {
  // The two GPUs are connected over a switch and over the gateway to the NICs, which has more
  // latency.
  const std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='z' routing='Floyd'><host id='a' speed='1Tf'/><host "
      "id='b' speed='1Tf'/><router id='switch'/><router id='gateway'/>"
      "<link id='as' bandwidth='9GBps' latency='1us'/><link id='bs' bandwidth='9GBps' "
      "latency='1us'/><link id='ag' bandwidth='9GBps' latency='2us'/><link id='bg' "
      "bandwidth='9GBps' latency='2us'/>"
      "<route src='a' dst='gateway'><link_ctn id='ag'/></route>"
      "<route src='b' dst='gateway'><link_ctn id='bg'/></route>"
      "<route src='a' dst='switch'><link_ctn id='as'/></route>"
      "<route src='b' dst='switch'><link_ctn id='bs'/></route></zone></platform>";
  CHECK(query(text, [](auto& cluster) { return route_text(cluster, 0, 1); }) ==
        "9 GB/s, 2 us: as 1/1 bs 1/1");
}

TEST_CASE("separate planes and spines have the same bisection as merged links", "[routes]") {
  const auto bisection_of = [](std::uint32_t spines, std::uint32_t planes, const char* fabric_name,
                               std::uint32_t leaf_nodes = 2) {
    cluster::PlatformRequest request{.nodes = {{&cluster::find_node_kind("dgx-h100"), 8}},
                                     .fabric = fabric_name,
                                     .spines = spines,
                                     .planes = planes,
                                     .leaf_nodes = leaf_nodes};
    return query(cluster::make_platform(request), [](auto& cluster) { return halves(cluster); });
  };
  for (const char* name : {"rail", "fat-tree"}) {
    CHECK(bisection_of(0, 1, name) == "1568");  // 32 NICs of 49 GB/s
    CHECK(bisection_of(4, 1, name) == "1568");
    CHECK(bisection_of(3, 2, name) == "1568");
    CHECK(bisection_of(0, 2, name, 8) == "1568");  // all nodes on the same rail leaves
    CHECK(bisection_of(4, 4, name, 32) == "1568");
  }
}

TEST_CASE("multipath accepts seeds and flows", "[routes]") {
  CHECK(config::parse_multipath("adaptive") == Multipath{});
  CHECK(config::parse_multipath("spread") == Multipath{.by = MultipathBy::spread});
  CHECK(config::parse_multipath("hash:3:4") ==
        Multipath{.by = MultipathBy::hash, .seed = 3, .flows = 4});
  for (const char* wrong :
       {"", "even", "spread:1", "adaptive:1", "hash:", "hash:1:0", "hash:1:2:3", "hash:x"})
    CHECK_FALSE(config::parse_multipath(wrong));
}
