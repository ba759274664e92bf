#include "sim/cluster/checks/bisection.hpp"

#include <cmath>
#include <limits>
#include <map>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::Cluster;

namespace {

// Computes the bisection bandwidth in bytes/s as a reference: adds up the routes from every GPU of
// one half to all GPUs of the other, or only to those with the same index in their nodes.
double count_routes(const Cluster& cluster, bool by_local_index) {
  const auto& gpus = cluster.gpus();
  const std::size_t half = gpus.size() / 2;
  std::map<std::uint32_t, std::uint32_t> next_index;
  std::vector<std::uint32_t> local_index;
  for (const auto* gpu : gpus) local_index.push_back(next_index[cluster.node_of(gpu)]++);
  std::map<const cluster::Link*, double> load;
  for (std::size_t i = 0; i < half; ++i) {
    std::vector<std::size_t> partners;
    for (std::size_t j = half; j < 2 * half; ++j)
      if (!by_local_index || local_index[i] == local_index[j]) partners.push_back(j);
    for (const std::size_t j : partners)
      for (const auto* link : cluster.route(gpus[i], gpus[j]).links)
        load[link] += 1 / static_cast<double>(partners.size());
  }
  double rate = std::numeric_limits<double>::infinity();
  for (const auto& [link, sum] : load) rate = std::min(rate, Cluster::capacity_of(link) / sum);
  return rate * static_cast<double>(half);
}

std::string query(const std::string& text,
                  const std::function<std::string(const Cluster&)>& evaluate) {
  const tests::CommandFolder place;
  place.write("p.xml", text);
  return tests::in_child([&] { return evaluate(Cluster::load(place.folder() / "p.xml")); });
}

std::string compare(const std::string& text, bool by_local_index) {
  return query(text, [&](const Cluster& cluster) -> std::string {
    const cluster::Bisection bisection = cluster::find_bisection(cluster, cluster.gpus());
    const double expected = count_routes(cluster, by_local_index);
    if (std::abs(bisection.bandwidth - expected) > 1e-9 * expected)
      return fmt::format("{} against {}", bisection.bandwidth, expected);
    return bisection.is_sampled() ? "sampled" : "";
  });
}

std::string zone(const std::string& content) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\"><zone id='z' routing='Full'>" +
         content + "</zone></platform>\n";
}

}  // namespace

TEST_CASE("the bisection equals the result of counting every route", "[bisection]") {
  constexpr const char* pcie_node = PIPEWRIGHT_TEST_DATA "/nodes/pcie.yaml";
  for (const cluster::Fabric& fabric : cluster::fabrics())
    for (const char* node : {"a100-4nic", "dgx-1-v100", pcie_node})
      for (const std::uint32_t nodes : {1U, 3U, 6U, 8U}) {
        if (fabric.name == "torus" && std::string(node) == pcie_node) continue;
        if (fabric.name == "rail-only") continue;  // its rails are not connected
        CAPTURE(fabric.name, node, nodes);
        cluster::PlatformRequest request{.nodes = {{&cluster::find_node_kind(node), nodes}},
                                         .fabric = std::string(fabric.name)};
        if (fabric.name != "torus") request.leaf_nodes = 1;
        request.group_leaves = 2;
        request.pod_leaves = 2;
        request.oversubscription = 3;
        CHECK(compare(cluster::make_platform(request), nodes % 2 == 0) == "");
      }
}

TEST_CASE("a dragonfly's bisection does not depend on how groups divide the nodes", "[bisection]") {
  // Each of ten groups of 16 nodes divides its bandwidth among nine links, one to each other group.
  // Five groups on either side have 25 links between them.
  const cluster::PlatformRequest request{.nodes = {{&cluster::find_node_kind("a100-4nic"), 160}},
                                         .fabric = "dragonfly"};
  CHECK(query(cluster::make_platform(request), [](const Cluster& cluster) {
          return fmt::format("{:.6g}", cluster::bisection(cluster) / 1e9);
        }) == fmt::format("{:.6g}", 25 * 16 * 4 * 24 / 9.0));
}

TEST_CASE("the bisection of a torus is exact, whatever its size and sides", "[bisection]") {
  const auto torus = [](const std::string& sides, std::uint32_t chips) {
    return fmt::format(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><cluster id='t' topology='TORUS' topo_parameters='{}' "
        "prefix='chip-' radical='0-{}' suffix='' speed='1Tf' bw='45GBps' lat='1us' "
        "sharing_policy='SPLITDUPLEX'/></platform>\n",
        sides, chips - 1);
  };
  CHECK(compare(torus("5,4,3", 60), false) == "");
  CHECK(compare(torus("2,7", 14), false) == "");
  CHECK(compare(torus("9", 9), false) == "");
  const auto bisection_of = [&](const std::string& sides, std::uint32_t chips) {
    return query(torus(sides, chips), [](const Cluster& cluster) {
      const cluster::Bisection bisection = cluster::find_bisection(cluster, cluster.gpus());
      return fmt::format("{:.6g}{}", bisection.bandwidth / 1e9,
                         bisection.is_sampled() ? ", sampled" : "");
    });
  };
  // 16 x 16 rings are cut twice.
  CHECK(bisection_of("16,16,16", 4096) == fmt::format("{}", 2 * 16 * 16 * 45));
  // A dimension of 1 changes nothing: four rings are cut twice.
  for (const char* sides : {"4,4", "4,4,1", "1,4,4", "4,1,1,4"})
    CHECK(bisection_of(sides, 16) == fmt::format("{}", 2 * 4 * 45));
}

TEST_CASE("in one node, each GPU of a half sends to all GPUs of the other half", "[bisection]") {
  // GPUs a, b, c and d form a ring with links of 1 GB/s; a and b send to c and d.
  std::string text;
  for (const char* name : {"a", "b", "c", "d"})
    text += fmt::format("<host id='{}' speed='1Tf'/>", name);
  for (const char* name : {"ab", "bc", "cd", "da"})
    text += fmt::format(
        "<link id='{}' bandwidth='1GBps' latency='1us' "
        "sharing_policy='SPLITDUPLEX'/>",
        name);
  const auto route = [](const char* from, const char* to, const std::string& links) {
    return fmt::format("<route src='{}' dst='{}'>{}</route>", from, to, links);
  };
  const auto crossing = [](const char* link, const char* direction) {
    return fmt::format("<link_ctn id='{}' direction='{}'/>", link, direction);
  };
  text += route("a", "b", crossing("ab", "UP")) + route("b", "c", crossing("bc", "UP")) +
          route("c", "d", crossing("cd", "UP")) + route("a", "d", crossing("da", "DOWN")) +
          route("a", "c", crossing("ab", "UP") + crossing("bc", "UP")) +
          route("b", "d", crossing("bc", "UP") + crossing("cd", "UP"));
  // Link bc carries half of what a sends, and all that b sends.
  CHECK(query(zone(text), [](const Cluster& cluster) {
          return fmt::format("{:.6g}", cluster::bisection(cluster));
        }) == fmt::format("{:.6g}", 2e9 / 1.5));
}

TEST_CASE("the bisection equals counting every route if SimGrid loads the file", "[bisection]") {
  const std::string tree = zone(
      "<cluster id='c' prefix='h-' suffix='' radical='0-15' speed='1Tf' bw='1GBps' lat='1us' "
      "topology='FAT_TREE' topo_parameters='2;4,4;1,2;1,2'/>");
  CHECK(compare(tree, false) == "");
}

TEST_CASE("missing routes are counted, and the bisection is 0", "[bisection]") {
  const std::string text = zone(
      "<host id='a' speed='1Tf'/><host id='b' speed='1Tf'/><host id='c' speed='1Tf'/>"
      "<host id='d' speed='1Tf'/><link id='l' bandwidth='1GBps'/>"
      "<route src='a' dst='c'><link_ctn id='l'/></route>"
      "<route src='b' dst='d'><link_ctn id='l'/></route>");
  CHECK(query(text, [](const Cluster& cluster) {
          const auto bisection = cluster::find_bisection(cluster, cluster.gpus());
          return fmt::format("{} {} {} to {}", bisection.bandwidth, bisection.missing,
                             bisection.missing_from, bisection.missing_to);
        }) == "0 2 a to d");
  CHECK_THAT(
      query(text,
            [](const Cluster& cluster) { return fmt::format("{}", cluster::bisection(cluster)); }),
      Catch::EndsWith("no route leads from 'a' to 'd'"));
}
