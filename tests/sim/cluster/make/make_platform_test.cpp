#include "sim/cluster/make/make_platform.hpp"

#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/checks/describe.hpp"
#include "sim/cluster/checks/faults.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/platform/platform.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::NodeKind;
using cluster::PlatformRequest;

namespace {

const NodeKind& kind(const char* name) { return cluster::find_node_kind(name); }

PlatformRequest request(const char* node, std::uint32_t nodes, const char* fabric) {
  return {.nodes = {{&kind(node), nodes}}, .fabric = fabric};
}

// What a made platform answers, loaded in a process of its own.
std::string ask(const PlatformRequest& wanted,
                const std::function<std::string(cluster::Cluster&)>& question) {
  const tests::Workplace place;
  place.write("p.xml", cluster::make_platform(wanted));
  return tests::in_child([&] {
    cluster::Cluster cluster = cluster::Cluster::load(place.folder() / "p.xml");
    return question(cluster);
  });
}

double bisection(const PlatformRequest& wanted) {
  return std::stod(
      ask(wanted, [](auto& cluster) { return fmt::format("{}", cluster::bisection(cluster)); }));
}

}  // namespace

TEST_CASE("every node on every fabric is whole: all pairs have a way, and nothing is odd",
          "[make]") {
  for (const std::string& name : cluster::node_kind_names())
    for (const cluster::Fabric& fabric : cluster::fabrics()) {
      const NodeKind& node = cluster::find_node_kind(name);
      if (fabric.name == "torus" && node.wiring == NodeKind::Wiring::pcie) continue;
      if (fabric.name == "rail-only") continue;  // rails that nothing joins
      for (const std::uint32_t nodes : {1U, 3U, 9U}) {
        CAPTURE(node.name, fabric.name, nodes);
        PlatformRequest wanted{.nodes = {{&node, nodes}}, .fabric = std::string(fabric.name)};
        if (fabric.name != "torus") wanted.leaf_nodes = nodes == 9 ? 4 : 1;
        CHECK(ask(wanted, [](auto& cluster) {
                std::string faults;
                for (const auto& fault : cluster::find_faults(cluster).faults) faults += fault.what;
                const auto described = cluster::describe(cluster);
                return fmt::format("{} {} {}", described.nodes, cluster.gpus().size(), faults);
              }) == fmt::format("{} {} ", nodes, nodes * node.gpus));
      }
    }
}

TEST_CASE("the bisection of a fabric with two levels is what its uplinks leave", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  for (const std::uint32_t nodes : {2U, 4U, 8U})
    for (const double oversubscription : {1.0, 2.0, 7.0}) {
      CAPTURE(nodes, oversubscription);
      PlatformRequest wanted = request("dgx-h100", nodes, "leaf-spine");
      wanted.leaf_nodes = nodes / 2;
      wanted.oversubscription = oversubscription;
      // Half of the nodes are on leaf 0, and all that they send leads over its uplink.
      CHECK(bisection(wanted) ==
            Approx(nodes / 2 * node.nics * node.nic_bandwidth / oversubscription));
      wanted.fabric = "rail";
      CHECK(bisection(wanted) ==
            Approx(nodes / 2 * node.nics * node.nic_bandwidth / oversubscription));
    }
}

TEST_CASE("rails of one leaf block nothing, whatever the spine has", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  PlatformRequest wanted = request("dgx-h100", 4, "rail");
  wanted.oversubscription = 100;
  CHECK(bisection(wanted) == Approx(2 * node.nics * node.nic_bandwidth));
}

TEST_CASE("a fat tree has both oversubscriptions on the way between pods", "[make]") {
  const NodeKind& node = kind("dgx-a100");
  PlatformRequest wanted = request("dgx-a100", 8, "fat-tree");
  wanted.leaf_nodes = 1;
  wanted.pod_leaves = 4;
  wanted.oversubscription = 2;
  wanted.core_oversubscription = 3;
  CHECK(bisection(wanted) == Approx(4 * node.nics * node.nic_bandwidth / 6));
}

TEST_CASE("a dragonfly's bisection is that of its global links", "[make]") {
  const NodeKind& node = kind("a100-4nic");
  PlatformRequest wanted = request("a100-4nic", 8, "dragonfly");
  wanted.leaf_nodes = 1;
  wanted.group_leaves = 2;
  wanted.oversubscription = 4;
  // Four groups of two leaves, so 2 x 2 links join the halves; a group sends what its leaves do,
  // over 4, and has 3 others.
  const double global = 2 * node.nics * node.nic_bandwidth / 4 / 3;
  CHECK(bisection(wanted) == Approx(4 * global));
}

TEST_CASE("a dragonfly+ has as many gateways between groups as spines", "[make]") {
  const NodeKind& node = kind("a100-4nic");
  PlatformRequest wanted = request("a100-4nic", 8, "dragonfly+");
  wanted.leaf_nodes = 1;
  wanted.group_leaves = 2;
  wanted.oversubscription = 4;
  for (const std::uint32_t spines : {1U, 2U, 4U}) {
    CAPTURE(spines);
    wanted.spines = spines;
    // As of a dragonfly: 2 x 2 pairs of groups, and what a pair has is spread over its gateways.
    CHECK(bisection(wanted) == Approx(4 * 2 * node.nics * node.nic_bandwidth / 4 / 3));
    CHECK(ask(wanted, [&](auto& cluster) {
            const auto& gpus = cluster.gpus();
            const auto route = cluster.route(gpus.front(), gpus.back());
            std::set<std::string> global;
            for (const auto* link : route.links)
              if (cluster.link_class(link) == "global")
                global.insert(cluster::Cluster::link_name(link));
            return fmt::format("{}", global.size());
          }) == fmt::format("{}", spines));
  }
}

TEST_CASE("a torus joins neighbours by the shortest way round", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  PlatformRequest wanted = request("dgx-h100", 8, "torus");
  wanted.dimensions = {8, 1, 1};
  const double side = node.nics * node.nic_bandwidth / 2;  // no more than two ways out
  CHECK(ask(wanted, [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto near = cluster.route(gpus[0], gpus[8 * 7]);
          const auto far = cluster.route(gpus[0], gpus[8 * 4]);
          return fmt::format("{} {} {:.1f} {:.1f} {:.6g}", near.way().size(), far.way().size(),
                             near.latency * 1e6, far.latency * 1e6, near.bandwidth);
        }) == fmt::format("5 8 13.8 14.4 {:.6g}", node.nic_bandwidth));
  CHECK(node.nic_bandwidth < side);
}

TEST_CASE("a torus spreads a node's NICs over its six sides", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  CHECK(ask(request("dgx-h100", 27, "torus"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto route = cluster.route(gpus[0], gpus[8 * 13]);  // to 1, 1, 1
          return fmt::format("{} {:.6g}", route.links.size(), route.bandwidth);
        }) == fmt::format("7 {:.6g}", node.nic_bandwidth));
  // With fewer NICs, a cable has less than one of them.
  const NodeKind& few = kind("a100-4nic");
  CHECK(ask(request("a100-4nic", 27, "torus"), [](auto& cluster) {
          return fmt::format("{:.6g}",
                             cluster.route(cluster.gpus()[0], cluster.gpus()[8]).bandwidth);
        }) == fmt::format("{:.6g}", few.nics * few.nic_bandwidth / 6));
}

TEST_CASE("no pair on a torus gets more than its NICs, by whatever protocol", "[make]") {
  for (const char* name : {"dgx-h100", "gb200-nvl72"}) {
    CAPTURE(name);
    CHECK(ask(request(name, 2, "torus"), [](auto& cluster) {
            const auto route = cluster.route(cluster.gpus().front(), cluster.gpus().back());
            const auto& ll = route.by[static_cast<std::size_t>(cluster::Protocol::ll)];
            return fmt::format("{:.6g} {:.6g}", route.bandwidth, ll.efficiency);
          }) == fmt::format("{:.6g} 0.12", kind(name).nic_bandwidth));
  }
}

TEST_CASE("a torus whose sides are of two sends all that its NICs have", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  // Of three cables, one leads to the other half.
  CHECK(bisection(request("dgx-h100", 8, "torus")) ==
        Approx(4 * node.nics * node.nic_bandwidth / 3));
  CHECK(bisection(request("dgx-h100", 2, "torus")) == Approx(node.nics * node.nic_bandwidth));
}

TEST_CASE("nodes of several NVLink generations keep what each can do", "[make]") {
  const PlatformRequest mixed{.nodes = {{&kind("dgx-h100"), 2}, {&kind("dgx-a100"), 2}}};
  CHECK(ask(mixed, [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto sums = [&](std::size_t gpu) {
            const auto route = cluster.route(gpus[gpu], gpus[gpu + 1]);
            const auto found = cluster.in_switch(route, cluster::Numbers::actual);
            return cluster.link_class(route.links.front()) +
                   (found ? fmt::format(" {:g}, ", found->efficiency) : " none, ");
          };
          return sums(0) + sums(16) + fmt::format("{:g}", cluster.model().launch * 1e6);
        }) == "nvlink4 0.8, nvlink3 none, 9.6");
  CHECK_THAT(cluster::make_platform(mixed),
             Catch::Contains("takes the longest launch: 5us on dgx-h100, 9.6us on dgx-a100."));
  // Of one generation there is one class.
  const std::string same =
      cluster::make_platform({.nodes = {{&kind("dgx-h100"), 1}, {&kind("h100-hdr"), 1}}});
  CHECK_THAT(same, Catch::Contains("value=\"nvlink\"") && !Catch::Contains("nvlink4.") &&
                       !Catch::Contains("longest launch"));
}

TEST_CASE("between racks of 72 GPUs traffic goes over NICs", "[make]") {
  CHECK(ask(request("gb200-nvl72", 2, "rail"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto over = [&](std::size_t to) {
            const auto route = cluster.route(gpus[0], gpus[to]);
            return fmt::format("{} {:g}, ", cluster.link_class(route.links.front()),
                               route.bandwidth / 1e9);
          };
          return over(71) + over(72);
        }) == "nvlink 677, nic 47, ");
}

TEST_CASE("dies of MI250X without a link reach each other over others", "[make]") {
  CHECK(ask(request("mi250x-slingshot", 1, "rail"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          std::string links;
          for (const std::size_t to : {1, 2, 6, 3, 4}) {
            const auto route = cluster.route(gpus[0], gpus[to]);
            links += fmt::format("{} of {:g}, ", route.links.size(), route.bandwidth / 1e9);
          }
          return links;
          // Twins, one link, two; then over a twin, and over the nearest of two.
        }) == "1 of 150, 1 of 37.5, 1 of 75, 2 of 37.5, 2 of 37.5, ");
}

TEST_CASE("two GPUs share a NIC where a node has half as many", "[make]") {
  CHECK(ask(request("a100-4nic", 2, "rail"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto link = [&](int gpu) {
            return cluster.link_name(cluster.route(gpus[gpu], gpus[8]).links.front());
          };
          return link(0) + " " + link(1) + " " + link(2);
        }) == "leaf-0-0_link_0_UP leaf-0-0_link_0_UP leaf-0-1_link_0_UP");
}

TEST_CASE("DGX-1 has six NVLinks a GPU, one or two to a pair", "[make]") {
  const NodeKind& node = kind("dgx-1-v100");
  CHECK(ask(request("dgx-1-v100", 1, "rail"), [&](auto& cluster) {
          std::string wrong;
          const auto& gpus = cluster.gpus();
          for (const auto* from : gpus) {
            double nvlinks = 0;
            for (const auto* to : gpus) {
              if (from == to) continue;
              const auto route = cluster.route(from, to);
              if (cluster.link_class(route.links.front()) == "nvlink")
                nvlinks += route.bandwidth / node.link_bandwidth;
            }
            if (nvlinks != 6) wrong += cluster::name_of(from) + " ";
          }
          return wrong;
        }) == "");
}

TEST_CASE("nodes of two kinds are numbered through and keep to their own leaves", "[make]") {
  const PlatformRequest wanted{.nodes = {{&kind("dgx-a100"), 2}, {&kind("dgx-h100"), 1}}};
  CHECK(ask(wanted, [](auto& cluster) {
          std::string text;
          for (const auto& gpu : cluster::describe(cluster).gpus)
            text += fmt::format("{} {}, ", gpu.count, gpu.gpu);
          const auto* last = cluster.gpus().back();
          const auto route = cluster.route(cluster.gpus().front(), last);
          return text + fmt::format("{} {:g}", cluster::name_of(last), route.bandwidth / 1e9);
        }) == "16 a100-80gb, 8 h100-sxm, node-2-gpu-7 24");
}

TEST_CASE("16,384 GPUs in a fat tree are read without SimGrid's loader", "[make]") {
  const std::string text = cluster::make_platform(request("dgx-h100", 2048, "fat-tree"));
  CHECK(text.size() < 1'500'000);
  const auto platform = cluster::read_platform(cluster::PlatformFile("p.xml", text));
  REQUIRE(platform);
  CHECK(platform->hosts.size() == 2 * 16384);  // GPUs and NICs
  // 512 leaves of 32 nodes' rails, as in NVIDIA's table of the 64 SU DGX SuperPOD.
  CHECK(std::count_if(platform->links.begin(), platform->links.end(),
                      [](const auto& link) { return link.link_class == "leaf-spine"; }) == 2 * 512);
}

TEST_CASE("the same request makes the same bytes, and says how it was made", "[make]") {
  PlatformRequest wanted = request("dgx-h100", 3, "dragonfly");
  wanted.made_by = "pipewright platform make --node dgx-h100";
  const std::string text = cluster::make_platform(wanted);
  CHECK(text == cluster::make_platform(wanted));
  CHECK_THAT(text, Catch::Contains("value=\"pipewright platform make --node dgx-h100\""));
  CHECK_THAT(text, Catch::Contains("nccl-tests, issue 290"));
}

TEST_CASE("what cannot be made is told with what can", "[make]") {
  const auto complaint = [](const PlatformRequest& wanted) -> std::string {
    try {
      cluster::make_platform(wanted);
    } catch (const cluster::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint(request("dgx-h100", 2, "hypercube")) ==
        "no fabric is called 'hypercube'; there are rail, rail-only, leaf-spine, fat-tree, "
        "dragonfly, dragonfly+, torus");
  PlatformRequest wanted = request("dgx-h100", 12, "torus");
  wanted.dimensions = {2, 2, 2};
  CHECK(complaint(wanted) ==
        "a torus of 2 x 2 x 2 has 8 corners, but there are 12 nodes; 3 x 2 x 2 would fit");
  CHECK_THAT(complaint(request(PIPEWRIGHT_TEST_DATA "/nodes/pcie.yaml", 8, "torus")),
             Catch::Contains("leaf-spine"));
  wanted = request("dgx-h100", 2, "rail");
  wanted.oversubscription = 0;
  CHECK_THAT(complaint(wanted), Catch::StartsWith("oversubscription 0 must be from 0.01 to 100"));
  wanted.oversubscription = 1e300;
  CHECK_THAT(complaint(wanted), Catch::Contains("must be from 0.01 to 100"));
  wanted = request("dgx-h100", 7, "torus");
  wanted.dimensions = {2, 2, 2};
  CHECK_THAT(complaint(wanted), Catch::EndsWith("but there are 7 nodes; 7 would fit"));
  CHECK_THAT(complaint(request("dgx-h100", 0, "rail")), Catch::StartsWith("0 nodes of dgx-h100"));
  CHECK_THROWS_WITH(cluster::find_node_kind("dgx"), Catch::Contains("allowed: a100-4nic, "));
}
