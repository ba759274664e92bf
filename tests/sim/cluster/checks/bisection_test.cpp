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

// Every source to every destination of the second half that has its place in a node, or to all of
// them: one route after the other, bytes/s.
double by_hand(const Cluster& cluster, bool by_place) {
  const auto& gpus = cluster.gpus();
  const std::size_t half = gpus.size() / 2;
  std::map<std::uint32_t, std::uint32_t> in_node;
  std::vector<std::uint32_t> place;
  for (const auto* gpu : gpus) place.push_back(in_node[cluster.node_of(gpu)]++);
  std::map<const cluster::Link*, double> load;
  for (std::size_t i = 0; i < half; ++i) {
    std::vector<std::size_t> partners;
    for (std::size_t j = half; j < 2 * half; ++j)
      if (!by_place || place[i] == place[j]) partners.push_back(j);
    for (const std::size_t j : partners)
      for (const auto* link : cluster.route(gpus[i], gpus[j]).links)
        load[link] += 1 / static_cast<double>(partners.size());
  }
  double rate = std::numeric_limits<double>::infinity();
  for (const auto& [link, sum] : load) rate = std::min(rate, Cluster::capacity_of(link) / sum);
  return rate * static_cast<double>(half);
}

std::string ask(const std::string& text,
                const std::function<std::string(const Cluster&)>& question) {
  const tests::Workplace place;
  place.write("p.xml", text);
  return tests::in_child([&] { return question(Cluster::load(place.folder() / "p.xml")); });
}

std::string compare(const std::string& text, bool by_place) {
  return ask(text, [&](const Cluster& cluster) -> std::string {
    const cluster::Bisection found = cluster::find_bisection(cluster, cluster.gpus());
    const double expected = by_hand(cluster, by_place);
    if (std::abs(found.bandwidth - expected) > 1e-9 * expected)
      return fmt::format("{} against {}", found.bandwidth, expected);
    return found.is_sampled() ? "sampled" : "";
  });
}

std::string zone(const std::string& inside) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\"><zone id='z' routing='Full'>" +
         inside + "</zone></platform>\n";
}

}  // namespace

TEST_CASE("the bisection is what counting every route finds", "[bisection]") {
  constexpr const char* pcie_node = PIPEWRIGHT_TEST_DATA "/nodes/pcie.yaml";
  for (const cluster::Fabric& fabric : cluster::fabrics())
    for (const char* node : {"a100-4nic", "dgx-1-v100", pcie_node})
      for (const std::uint32_t nodes : {1U, 3U, 6U, 8U}) {
        if (fabric.name == "torus" && std::string(node) == pcie_node) continue;
        if (fabric.name == "rail-only") continue;  // rails that nothing joins
        CAPTURE(fabric.name, node, nodes);
        cluster::PlatformRequest wanted{.nodes = {{&cluster::find_node_kind(node), nodes}},
                                        .fabric = std::string(fabric.name)};
        if (fabric.name != "torus") wanted.leaf_nodes = 1;
        wanted.group_leaves = 2;
        wanted.pod_leaves = 2;
        wanted.oversubscription = 3;
        CHECK(compare(cluster::make_platform(wanted), nodes % 2 == 0) == "");
      }
}

TEST_CASE("a dragonfly's bisection does not depend on how its groups fall among the nodes",
          "[bisection]") {
  // Ten groups of 16 nodes, which send all they have over nine links: 25 join the halves.
  const cluster::PlatformRequest wanted{.nodes = {{&cluster::find_node_kind("a100-4nic"), 160}},
                                        .fabric = "dragonfly"};
  CHECK(ask(cluster::make_platform(wanted), [](const Cluster& cluster) {
          return fmt::format("{:.6g}", cluster::bisection(cluster) / 1e9);
        }) == fmt::format("{:.6g}", 25 * 16 * 4 * 24 / 9.0));
}

TEST_CASE("in one node, each GPU of a half sends to all of the other", "[bisection]") {
  // A ring of four by cables of 1 GB/s: a to c and d, b to c and d.
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
  const auto over = [](const char* link, const char* way) {
    return fmt::format("<link_ctn id='{}' direction='{}'/>", link, way);
  };
  text += route("a", "b", over("ab", "UP")) + route("b", "c", over("bc", "UP")) +
          route("c", "d", over("cd", "UP")) + route("a", "d", over("da", "DOWN")) +
          route("a", "c", over("ab", "UP") + over("bc", "UP")) +
          route("b", "d", over("bc", "UP") + over("cd", "UP"));
  // Over bc: half of what a sends, and all that b does.
  CHECK(ask(zone(text), [](const Cluster& cluster) {
          return fmt::format("{:.6g}", cluster::bisection(cluster));
        }) == fmt::format("{:.6g}", 2e9 / 1.5));
}

TEST_CASE("the same where SimGrid loads the file", "[bisection]") {
  const std::string tree = zone(
      "<cluster id='c' prefix='h-' suffix='' radical='0-15' speed='1Tf' bw='1GBps' lat='1us' "
      "topology='FAT_TREE' topo_parameters='2;4,4;1,2;1,2'/>");
  CHECK(compare(tree, false) == "");
}

TEST_CASE("routes that are missing are counted, and leave no bisection", "[bisection]") {
  const std::string text = zone(
      "<host id='a' speed='1Tf'/><host id='b' speed='1Tf'/><host id='c' speed='1Tf'/>"
      "<host id='d' speed='1Tf'/><link id='l' bandwidth='1GBps'/>"
      "<route src='a' dst='c'><link_ctn id='l'/></route>"
      "<route src='b' dst='d'><link_ctn id='l'/></route>");
  CHECK(ask(text, [](const Cluster& cluster) {
          const auto found = cluster::find_bisection(cluster, cluster.gpus());
          return fmt::format("{} {} {} to {}", found.bandwidth, found.missing, found.missing_from,
                             found.missing_to);
        }) == "0 2 a to d");
  CHECK_THAT(
      ask(text,
          [](const Cluster& cluster) { return fmt::format("{}", cluster::bisection(cluster)); }),
      Catch::EndsWith("no route leads from 'a' to 'd'"));
}
