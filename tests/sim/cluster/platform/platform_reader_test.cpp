#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/make/make_platform.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_routes.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::Index;
using cluster::Platform;

namespace {

std::string document(const std::string& content) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         content + "\n</platform>\n";
}

std::optional<Platform> read(const std::string& content) {
  return cluster::read_platform(cluster::PlatformFile("p.xml", document(content)));
}

std::string complaint(const std::string& content) {
  try {
    read(content);
  } catch (const cluster::Error& error) {
    return error.what();
  }
  return "";
}

// Returns a zone with two hosts, followed by the text `more`.
std::string pair(const std::string& more) {
  return "<zone id='z' routing='Full'>\n<host id='a' speed='1Tf'/>\n<host id='b' speed='1Tf'/>\n" +
         more + "</zone>";
}
const std::string duplex =
    "<link id='l' bandwidth='1GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>\n";

std::unordered_map<std::string, Index> vertices(const Platform& platform) {
  std::unordered_map<std::string, Index> vertices;
  for (Index i = 0; i < platform.vertices.size(); ++i)
    vertices.emplace(platform.vertices[i].name, i);
  return vertices;
}

std::string link_names(const Platform& platform, Index from, Index to) {
  std::vector<Index> links;
  cluster::MissingHop missing_hop;
  const cluster::PlatformRoutes routes(platform, {});
  if (!routes.append_first(from, to, links, missing_hop)) return "none";
  std::string text;
  for (const Index link : links) text += platform.links[link].name + " ";
  return text;
}

std::string link_names(const Platform& platform, const std::string& from, const std::string& to) {
  const auto index = vertices(platform);
  return link_names(platform, index.at(from), index.at(to));
}

// Describes the first pair of hosts for which SimGrid finds another route in the same file, if any.
// For GPUs of different nodes, routes between their NICs are compared.
std::string difference(const std::filesystem::path& path) {
  return tests::in_child([&]() -> std::string {
    const cluster::PlatformFile file = cluster::read_platform_file(path);
    const auto platform = cluster::read_platform(file);
    if (!platform) return "not read";
    const auto simgrid = cluster::load_with_simgrid(file);
    const auto index = vertices(*platform);
    std::size_t compared = 0;
    for (const auto* from : simgrid->gpus)
      for (const auto* to : simgrid->gpus) {
        if (from == to) continue;
        cluster::Route route;
        simgrid->find(from, to, cluster::Condition::current, route);
        std::string simgrid_links;
        for (const auto* link : route.links)
          simgrid_links += cluster::Cluster::link_name(link) + " ";
        std::string own_links = link_names(*platform, index.at(cluster::name_of(route.source)),
                                           index.at(cluster::name_of(route.destination)));
        if (own_links == "none") own_links = "";
        if (own_links != simgrid_links)
          return cluster::name_of(from) + " to " + cluster::name_of(to) + ": " + own_links +
                 "against " + simgrid_links;
        ++compared;
      }
    return compared > 0 ? "" : "nothing compared";
  });
}

}  // namespace

TEST_CASE("routes are equal to those of SimGrid for the same file", "[platform]") {
  for (const auto& entry :
       std::filesystem::directory_iterator(PIPEWRIGHT_ROOT "/platforms/clusters")) {
    CAPTURE(entry.path());
    CHECK(difference(entry.path()) == "");
  }
  CHECK(difference(PIPEWRIGHT_TEST_DATA "/clusters/bench.xml") == "");
}

TEST_CASE("a host has the launch factor of its property, by either reader", "[platform]") {
  const tests::CommandFolder place;
  const auto write = [&](const std::string& factor) {
    place.write("p.xml", document("<zone id='z' routing='Full'>\n<host id='a' speed='1Tf'>\n"
                                  "<prop id='launch_factor' value='" +
                                  factor + "'/></host>\n<host id='b' speed='1Tf'/>\n" + duplex +
                                  "<route src='a' dst='b'><link_ctn id='l' direction='UP'/>"
                                  "</route>\n</zone>"));
  };
  write("1.3");
  const std::string factors = tests::in_child([&] {
    const cluster::PlatformFile file = cluster::read_platform_file(place.folder() / "p.xml");
    std::string text;
    for (const auto& network :
         {cluster::make_network(file, cluster::read_platform(file).value(), {}),
          cluster::load_with_simgrid(file)}) {
      cluster::read_host_properties(file, *network);
      for (const cluster::Host* host : network->gpus)
        text += fmt::format("{} {:g}, ", host->name, host->launch_factor);
    }
    return text;
  });
  CHECK(factors == "a 1.3, b 1, a 1.3, b 1, ");
  for (const std::string factor : {"fast", "0", "-1"}) {
    CAPTURE(factor);
    write(factor);
    CHECK_THROWS_WITH(cluster::Cluster::load(place.folder() / "p.xml"),
                      Catch::Contains("p.xml:5: host 'a': property launch_factor is "));
  }
}

TEST_CASE("routes of generated fabrics are equal to those of SimGrid", "[platform]") {
  const tests::CommandFolder place;
  constexpr const char* pcie_node = PIPEWRIGHT_TEST_DATA "/nodes/pcie.yaml";
  for (const char* fabric : {"rail", "leaf-spine", "fat-tree", "dragonfly", "torus"})
    for (const char* node : {"dgx-h100", "a100-4nic", pcie_node}) {
      if (std::string(fabric) == "torus" && std::string(node) == pcie_node) continue;
      CAPTURE(fabric, node);
      place.write("p.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind(node), 5}},
                                                   .fabric = fabric,
                                                   .leaf_nodes = 1,
                                                   .pod_leaves = 2,
                                                   .group_leaves = 2}));
      CHECK(difference(place.folder() / "p.xml") == "");
    }
}

TEST_CASE("routes through a torus are equal to those of SimGrid, for any dimensions",
          "[platform]") {
  const tests::CommandFolder place;
  for (const std::vector<std::uint32_t>& sides :
       {std::vector<std::uint32_t>{3, 2, 2}, {4, 4}, {5, 3}, {7}, {2, 2, 2}, {6, 2}, {1}}) {
    std::uint32_t nodes = 1;
    for (const std::uint32_t side : sides) nodes *= side;
    CAPTURE(sides);
    place.write("p.xml",
                cluster::make_platform({.nodes = {{&cluster::find_node_kind("a100-4nic"), nodes}},
                                        .fabric = "torus",
                                        .dimensions = sides}));
    CHECK(difference(place.folder() / "p.xml") == "");
  }
}

TEST_CASE("a duplex link has two directions, and the return route uses the opposite one",
          "[platform]") {
  const auto platform =
      read(pair(duplex + "<route src='a' dst='b'><link_ctn id='l' direction='UP'/>"
                         "</route>"));
  REQUIRE(platform);
  CHECK(link_names(*platform, "a", "b") == "l_UP ");
  CHECK(link_names(*platform, "b", "a") == "l_DOWN ");
  CHECK(platform->links[0].bandwidth == 1e9);
  CHECK(platform->links[0].latency == Approx(1e-6));
  CHECK(platform->links[0].link_class == "l");
}

TEST_CASE("an asymmetrical route leads in one direction", "[platform]") {
  const auto platform =
      read(pair("<link id='l' bandwidth='1GBps'/>"
                "<route src='a' dst='b' symmetrical='NO'><link_ctn id='l'/>"
                "</route>"));
  REQUIRE(platform);
  CHECK(link_names(*platform, "a", "b") == "l ");
  CHECK(link_names(*platform, "b", "a") == "none");
}

TEST_CASE("elements beyond plain zones and clusters are left to SimGrid", "[platform]") {
  for (const std::string content :
       {"<zone id='z' routing='Vivaldi'/>",
        "<zone id='z' routing='Full'><host id='a' speed='1Tf' speed_file='f'/></zone>",
        "<cluster id='c' prefix='' suffix='' radical='0-7' speed='1Tf' bw='1GBps' lat='0' "
        "topology='FAT_TREE' topo_parameters='2;4,4;1,2;1,2'/>",
        "<config id='x'><prop id='a' value='b'/></config><zone id='z' routing='Full'/>",
        "<zone id='z' routing='Full'><peer id='a'/></zone>"}) {
    CAPTURE(content);
    CHECK_FALSE(read(content));
  }
  // With a third route, hosts a, b and c form a cycle, so that there are two paths between any two
  // of them.
  const std::string path =
      "<zone id='z' routing='Floyd'><host id='a' speed='1Tf'/><host id='b' speed='1Tf'/>"
      "<host id='c' speed='1Tf'/><link id='l' bandwidth='1GBps'/>"
      "<route src='a' dst='b'><link_ctn id='l'/></route>"
      "<route src='b' dst='c'><link_ctn id='l'/></route>";
  CHECK(read(path + "</zone>"));
  const auto cyclic = read(path + "<route src='c' dst='a'><link_ctn id='l'/></route></zone>");
  REQUIRE(cyclic);
  CHECK(cyclic->zones.front().routing == Platform::Routing::graph);
}

TEST_CASE("faults that SimGrid rejects are reported with file and line", "[platform]") {
  CHECK(complaint("") == "p.xml:3: <platform> is empty; put hosts and links into a <zone>");
  CHECK_THAT(complaint(pair("<host id='a' speed='1Tf'/>")),
             Catch::StartsWith("p.xml:7: the name 'a' is used twice"));
  CHECK_THAT(complaint(pair("<link id='l' bandwidth='1GBps'/>\n<link id='l' bandwidth='1GBps'/>")),
             Catch::StartsWith("p.xml:8: the name 'l' is used by two links"));
  CHECK_THAT(complaint(pair("<route src='a' dst='x'/>")),
             Catch::StartsWith("p.xml:7: route end 'x' is not defined above this line"));
  CHECK_THAT(complaint(pair("<route src='a' dst='b'/>")),
             Catch::EndsWith("p.xml:7: the route from 'a' to 'b' has no <link_ctn>"));
  CHECK_THAT(complaint(pair("<route src='a' dst='b'><link_ctn id='m'/></route>")),
             Catch::Contains("uses link 'm', which is not defined above this line"));
  CHECK_THAT(complaint(pair(duplex + "<route src='a' dst='b'><link_ctn id='l'/></route>")),
             Catch::StartsWith("p.xml:8: link 'l' is SPLITDUPLEX; add direction"));
  CHECK_THAT(complaint(pair("<link id='l' bandwidth='1GBps'/><route src='a' dst='b'>"
                            "<link_ctn id='l' direction='UP'/></route>")),
             Catch::Contains("link 'l' is not SPLITDUPLEX"));
  CHECK_THAT(complaint(pair("<link id='l' bandwidth='1GBps'/>\n"
                            "<route src='a' dst='b'><link_ctn id='l'/></route>\n"
                            "<route src='b' dst='a'><link_ctn id='l'/></route>\n")),
             Catch::StartsWith("p.xml:9: two routes lead from 'b' to 'a'"));
  CHECK_THAT(complaint(pair("<link id='l' bandwidth='1GBps'/>\n"
                            "<route src='a' dst='b'><link_ctn id='l'/></route>\n"
                            "<host id='c' speed='1Tf'/>\n")),
             Catch::StartsWith("p.xml:9: <host> follows a route"));
  CHECK_THAT(complaint(pair("<zone id='y' routing='Full'/>")),
             Catch::StartsWith("p.xml:7: zone 'z' has hosts, so it cannot have zones"));
  CHECK_THAT(
      complaint(pair("<link id='l' bandwidth='1Gxps'/>")),
      Catch::StartsWith("p.xml:7: bandwidth '1Gxps' of link 'l' is not a number with a unit"));
  CHECK_THAT(complaint("<zone id='z' routing='Full'><host id='a'/></zone>"),
             Catch::StartsWith("p.xml:4: <host> 'a' lacks speed=\"..\""));
  CHECK_THAT(complaint("<cluster id='c' prefix='' suffix='' radical='7-0' speed='1Tf' bw='1GBps' "
                       "lat='0'/>"),
             Catch::StartsWith("p.xml:4: radical '7-0' of cluster 'c' must be numbers and ranges"));
}

TEST_CASE("a zoneRoute connects zones by gateways inside them", "[platform]") {
  const auto zones = [](const std::string& route) {
    return "<zone id='top' routing='Full'>\n<zone id='x' routing='Full'><router id='gx'/></zone>\n"
           "<zone id='y' routing='Full'><router id='gy'/></zone>\n"
           "<link id='l' bandwidth='1GBps'/>\n" +
           route + "</zone>";
  };
  const auto route = [&](const std::string& gw_src, const std::string& dst) {
    return complaint(zones("<zoneRoute src='x' dst='" + dst + "' gw_src='" + gw_src +
                           "' gw_dst='gy'><link_ctn id='l'/></zoneRoute>"));
  };
  CHECK(route("gx", "y") == "");
  CHECK_THAT(route("gy", "y"), Catch::EndsWith("gateway 'gy' is not in zone 'x'"));
  CHECK_THAT(route("x", "y"), Catch::Contains("gateway 'x' is a zone"));
  CHECK_THAT(route("gx", "gy"), Catch::Contains("'gy' is not a zone"));
}
