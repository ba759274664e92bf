#include "sim/cluster/make/make_platform.hpp"

#include <set>
#include <utility>

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

// Generates the platform, loads it in a child process, and returns what `evaluate` returns there.
std::string query(const PlatformRequest& request,
                  const std::function<std::string(cluster::Cluster&)>& evaluate) {
  const tests::CommandFolder place;
  place.write("p.xml", cluster::make_platform(request));
  return tests::in_child([&] {
    cluster::Cluster cluster = cluster::Cluster::load(place.folder() / "p.xml");
    return evaluate(cluster);
  });
}

double bisection(const PlatformRequest& request) {
  return std::stod(
      query(request, [](auto& cluster) { return fmt::format("{}", cluster::bisection(cluster)); }));
}

}  // namespace

TEST_CASE("every node kind on every fabric has routes between all pairs and no faults", "[make]") {
  for (const std::string& name : cluster::node_kind_names())
    for (const cluster::Fabric& fabric : cluster::fabrics()) {
      const NodeKind& node = cluster::find_node_kind(name);
      if (fabric.name == "torus" && node.wiring == NodeKind::Wiring::pcie) continue;
      if (fabric.name == "rail-only") continue;  // its rails are not connected
      for (const std::uint32_t nodes : {1U, 3U, 9U}) {
        CAPTURE(node.name, fabric.name, nodes);
        PlatformRequest options{.nodes = {{&node, nodes}}, .fabric = std::string(fabric.name)};
        if (fabric.name != "torus") options.leaf_nodes = nodes == 9 ? 4 : 1;
        CHECK(query(options, [](auto& cluster) {
                std::string faults;
                for (const auto& fault : cluster::find_faults(cluster).faults)
                  faults += fault.message;
                const auto described = cluster::describe(cluster);
                return fmt::format("{} {} {}", described.nodes, cluster.gpus().size(), faults);
              }) == fmt::format("{} {} ", nodes, nodes * node.gpus));
      }
    }
}

TEST_CASE("the uplinks determine the bisection of a fabric with two levels", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  for (const std::uint32_t nodes : {2U, 4U, 8U})
    for (const double oversubscription : {1.0, 2.0, 7.0}) {
      CAPTURE(nodes, oversubscription);
      PlatformRequest options = request("dgx-h100", nodes, "leaf-spine");
      options.leaf_nodes = nodes / 2;
      options.oversubscription = oversubscription;
      // Leaf 0 has half of the nodes, and all traffic to the other half crosses its uplink.
      CHECK(bisection(options) ==
            Approx(nodes / 2 * node.nics * node.nic_bandwidth / oversubscription));
      options.fabric = "rail";
      CHECK(bisection(options) ==
            Approx(nodes / 2 * node.nics * node.nic_bandwidth / oversubscription));
    }
}

TEST_CASE("rails with a single leaf are non-blocking, regardless of the spine", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  PlatformRequest options = request("dgx-h100", 4, "rail");
  options.oversubscription = 100;
  CHECK(bisection(options) == Approx(2 * node.nics * node.nic_bandwidth));
}

TEST_CASE("routes between pods of a fat tree have both oversubscriptions", "[make]") {
  const NodeKind& node = kind("dgx-a100");
  PlatformRequest options = request("dgx-a100", 8, "fat-tree");
  options.leaf_nodes = 1;
  options.pod_leaves = 4;
  options.oversubscription = 2;
  options.core_oversubscription = 3;
  CHECK(bisection(options) == Approx(4 * node.nics * node.nic_bandwidth / 6));
}

TEST_CASE("the global links determine the bisection of a dragonfly", "[make]") {
  const NodeKind& node = kind("a100-4nic");
  PlatformRequest options = request("a100-4nic", 8, "dragonfly");
  options.leaf_nodes = 1;
  options.group_leaves = 2;
  options.oversubscription = 4;
  // Two of the four groups on either side have 2 x 2 links between them. A group divides a quarter
  // of its leaves' bandwidth among three links.
  const double global = 2 * node.nics * node.nic_bandwidth / 4 / 3;
  CHECK(bisection(options) == Approx(4 * global));
}

TEST_CASE("a dragonfly+ has one gateway between groups per spine", "[make]") {
  const NodeKind& node = kind("a100-4nic");
  PlatformRequest options = request("a100-4nic", 8, "dragonfly+");
  options.leaf_nodes = 1;
  options.group_leaves = 2;
  options.oversubscription = 4;
  for (const std::uint32_t spines : {1U, 2U, 4U}) {
    CAPTURE(spines);
    options.spines = spines;
    // As in a dragonfly, 2 x 2 pairs of groups connect the halves. Their bandwidth is divided among
    // the gateways.
    CHECK(bisection(options) == Approx(4 * 2 * node.nics * node.nic_bandwidth / 4 / 3));
    CHECK(query(options, [&](auto& cluster) {
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

TEST_CASE("a torus connects neighbours by the shorter direction", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  PlatformRequest options = request("dgx-h100", 8, "torus");
  options.dimensions = {8, 1, 1};
  const double side = node.nics * node.nic_bandwidth / 2;  // two directions out of a node
  CHECK(query(options, [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto near = cluster.route(gpus[0], gpus[8 * 7]);
          const auto far = cluster.route(gpus[0], gpus[8 * 4]);
          return fmt::format("{} {} {:.1f} {:.1f} {:.6g}", near.path().size(), far.path().size(),
                             near.latency * 1e6, far.latency * 1e6, near.bandwidth);
        }) == fmt::format("5 8 28.8 29.4 {:.6g}", node.nic_bandwidth));
  CHECK(node.nic_bandwidth < side);
}

TEST_CASE("a torus divides a node's NICs among its six cables", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  CHECK(query(request("dgx-h100", 27, "torus"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto route = cluster.route(gpus[0], gpus[8 * 13]);  // to 1, 1, 1
          return fmt::format("{} {:.6g}", route.links.size(), route.bandwidth);
        }) == fmt::format("7 {:.6g}", node.nic_bandwidth));
  // A node with fewer NICs than cables divides their bandwidth among six cables.
  const NodeKind& small_node = kind("a100-4nic");
  CHECK(query(request("a100-4nic", 27, "torus"), [](auto& cluster) {
          return fmt::format("{:.6g}",
                             cluster.route(cluster.gpus()[0], cluster.gpus()[8]).bandwidth);
        }) == fmt::format("{:.6g}", small_node.nics * small_node.nic_bandwidth / 6));
}

TEST_CASE("no pair of a torus exceeds the bandwidth of its NICs, by any protocol", "[make]") {
  for (const char* name : {"dgx-h100", "gb200-nvl72"}) {
    CAPTURE(name);
    CHECK(query(request(name, 2, "torus"),
                [](auto& cluster) {
                  const auto route = cluster.route(cluster.gpus().front(), cluster.gpus().back());
                  const auto& ll =
                      route.per_protocol[static_cast<std::size_t>(cluster::Protocol::ll)];
                  return fmt::format("{:.6g} {:.6g}", route.bandwidth, ll.efficiency);
                }) == fmt::format("{:.6g} {:.2g}", kind(name).nic_bandwidth,
                                  std::min(0.5, 5e9 / kind(name).nic_bandwidth)));
  }
}

TEST_CASE("a torus with sides of two uses the full bandwidth of its NICs", "[make]") {
  const NodeKind& node = kind("dgx-h100");
  // Each of the four nodes of a half has three cables, of which one leads to the other half.
  CHECK(bisection(request("dgx-h100", 8, "torus")) ==
        Approx(4 * node.nics * node.nic_bandwidth / 3));
  CHECK(bisection(request("dgx-h100", 2, "torus")) == Approx(node.nics * node.nic_bandwidth));
}

TEST_CASE("nodes of several NVLink generations keep their own parameters", "[make]") {
  const PlatformRequest mixed{.nodes = {{&kind("dgx-h100"), 2}, {&kind("dgx-a100"), 2}}};
  CHECK(query(mixed, [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto in_switch_text = [&](std::size_t gpu) {
            const auto route = cluster.route(gpus[gpu], gpus[gpu + 1]);
            const auto reduction = cluster.in_switch(route, cluster::Numbers::actual);
            return cluster.link_class(route.links.front()) +
                   (reduction ? fmt::format(" {:g}, ", reduction->efficiency) : " none, ");
          };
          return in_switch_text(0) + in_switch_text(16) +
                 fmt::format("{:g}", cluster.model().launch * 1e6);
        }) == "nvlink4 0.8, nvlink3 none, 9.6");
  CHECK_THAT(cluster::make_platform(mixed),
             Catch::Contains("takes the longest launch: 5us on dgx-h100, 9.6us on dgx-a100."));
  // If all nodes have the same NVLink generation, there is a single class of NVLinks.
  const std::string uniform =
      cluster::make_platform({.nodes = {{&kind("dgx-h100"), 1}, {&kind("h100-hdr"), 1}}});
  CHECK_THAT(uniform, Catch::Contains("value=\"nvlink\"") && !Catch::Contains("nvlink4.") &&
                          !Catch::Contains("longest launch"));
}

TEST_CASE("GPUs have the launch factor of their node's host", "[make]") {
  const tests::CommandFolder place;
  const auto node = [&](const std::string& name, const std::string& factor) {
    place.write(name,
                "gpu: l40s\nwiring: pcie\nlink_bandwidth: 25 GB/s\nlink_latency: 3 us\nnics: 2\n"
                "nic_bandwidth: 12 GB/s\nnic_latency: 4 us\nhost: {type: a CPU, launch_factor: " +
                    factor + "}\n");
    return (place.folder() / name).string();
  };
  const std::string slow = node("slow.yaml", "1.3");
  CHECK(query(request(slow.c_str(), 1, "rail"), [](auto& cluster) {
          return fmt::format("{:g}", cluster.gpus().front()->launch_factor);
        }) == "1.3");
  // A factor of 1 is the default, which is not written.
  const std::string usual = node("usual.yaml", "1");
  CHECK_THAT(cluster::make_platform(request(usual.c_str(), 1, "rail")),
             !Catch::Contains("launch_factor"));
  const std::string wrong = node("wrong.yaml", "200");
  CHECK_THROWS_WITH(kind(wrong.c_str()),
                    Catch::Contains("host.launch_factor is 200; allowed: a factor"));
}

TEST_CASE("each GPU has its share of the bandwidth of the node's host memory", "[make]") {
  const tests::CommandFolder place;
  const auto node = [&](const std::string& name, const std::string& host) {
    place.write(name,
                "gpu: l40s\ngpus: 4\nwiring: pcie\nlink_bandwidth: 25 GB/s\nnics: 2\n"
                "nic_bandwidth: 12 GB/s\nhost: {type: a CPU" +
                    host + "}\n");
    return (place.folder() / name).string();
  };
  const auto rates = [&](const std::string& file) {
    return query(request(file.c_str(), 1, "rail"), [](auto& cluster) {
      const cluster::Host* const gpu = cluster.gpus().back();
      return fmt::format("{:g} {:g}", gpu->host_memory_bandwidth, gpu->host_core_bandwidth);
    });
  };
  CHECK(rates(node("one.yaml", ", memory_bandwidth: 490 GB/s")) == "1.225e+11 0");
  CHECK(rates(node("both.yaml", ", memory_bandwidth: 1 TB/s, core_bandwidth: 30 GB/s")) ==
        "2.5e+11 3e+10");
  CHECK(rates(node("none.yaml", "")) == "0 0");
  const std::string wrong = node("wrong.yaml", ", memory_bandwidth: fast");
  CHECK_THROWS_WITH(kind(wrong.c_str()), Catch::Contains("host.memory_bandwidth"));
}

TEST_CASE("a node states which part of a NIC's bandwidth LL128 reaches", "[make]") {
  const tests::CommandFolder place;
  const auto node = [&](const std::string& name, const std::string& keys) {
    place.write(
        name,
        "gpu: h100-sxm\nnvlink: 4\nlink_bandwidth: 370 GB/s\nnic_bandwidth: 46 GB/s\n" + keys);
    return (place.folder() / name).string();
  };
  const auto has = [](const std::string& part) {
    return Catch::Contains("\"nic.ll128-efficiency\" value=\"" + part + "\"");
  };
  const std::string slow = node("slow.yaml", "nic_ll128_efficiency: 0.5\n");
  CHECK_THAT(cluster::make_platform(request(slow.c_str(), 2, "rail")), has("0.5"));
  CHECK_THAT(cluster::make_platform(request(node("usual.yaml", "").c_str(), 2, "rail")),
             has("0.92"));
  // The slowest kind of node counts.
  CHECK_THAT(cluster::make_platform({.nodes = {{&kind("dgx-h100"), 1}, {&kind(slow.c_str()), 1}}}),
             has("0.5"));
  CHECK_THROWS_WITH(kind(node("wrong.yaml", "nic_ll128_efficiency: 2\n").c_str()),
                    Catch::Contains("nic_ll128_efficiency is 2; allowed: a part"));
}

TEST_CASE("traffic between racks of 72 GPUs uses NICs", "[make]") {
  CHECK(query(request("gb200-nvl72", 2, "rail"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto first_link = [&](std::size_t to) {
            const auto route = cluster.route(gpus[0], gpus[to]);
            return fmt::format("{} {:g}, ", cluster.link_class(route.links.front()),
                               route.bandwidth / 1e9);
          };
          return first_link(71) + first_link(72);
        }) == "nvlink 677, nic 49, ");
}

TEST_CASE("dies of an MI250X without a direct link reach each other over other dies", "[make]") {
  CHECK(query(request("mi250x-slingshot", 1, "rail"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          std::string links;
          for (const std::size_t to : {1, 2, 6, 3, 4}) {
            const auto route = cluster.route(gpus[0], gpus[to]);
            links += fmt::format("{} of {:g}, ", route.links.size(), route.bandwidth / 1e9);
          }
          return links;
          // In order: the other die of the card, a die with one link, a die with two links, a die
          // reached over a twin, and a die reached over the nearer of two others.
        }) == "1 of 150, 1 of 37.5, 1 of 75, 2 of 37.5, 2 of 37.5, ");
}

TEST_CASE("dies of MI250X that are numbered otherwise keep their links", "[make]") {
  // GPUs 2 and 3 are the dies at places 4 and 5 of the wiring, and so on. GPU 0 has two links to
  // GPU 4, which is at place 6, and one to GPU 6, at place 2.
  NodeKind node = kind("mi250x-slingshot");
  node.places = {0, 1, 4, 5, 6, 7, 2, 3};
  CHECK(query({.nodes = {{&node, 1}}}, [](auto& cluster) {
          std::string rates;
          for (const std::size_t to : {1, 4, 6, 2})
            rates += fmt::format(
                "{:g} ", cluster.route(cluster.gpus()[0], cluster.gpus()[to]).bandwidth / 1e9);
          return rates;
        }) == "150 75 37.5 37.5 ");
}

TEST_CASE("NVLink bridges join GPUs in pairs, and PCIe the other GPUs", "[make]") {
  const tests::CommandFolder place;
  place.write("bridges.yaml",
              "gpu: a100-80gb\ngpus: 4\nwiring: pairs\npairs: [0-1, 2-3 x2]\nnvlink: 3\n"
              "link_bandwidth: 230 GB/s\npcie_bandwidth: 25 GB/s\nnics: 2\n"
              "nic_bandwidth: 24 GB/s\n");
  const NodeKind& node = kind((place.folder() / "bridges.yaml").c_str());
  const auto routes = [](cluster::Cluster& cluster) {
    std::string text;
    for (const auto& [from, to] : {std::pair{0, 1}, std::pair{2, 3}, std::pair{1, 2}}) {
      const auto route = cluster.route(cluster.gpus()[from], cluster.gpus()[to]);
      text += fmt::format("{} of {:g} {}, ", route.links.size(), route.bandwidth / 1e9,
                          cluster.link_class(route.links.front()));
    }
    return text + fmt::format("{} faults", cluster::find_faults(cluster).faults.size());
  };
  CHECK(query({.nodes = {{&node, 2}}}, routes) ==
        "1 of 230 nvlink, 1 of 460 nvlink, 2 of 25 pcie, 0 faults");
  NodeKind relayed = node;  // 0-1 and 2-3 are still not joined, so nothing changes
  relayed.relay = true;
  CHECK(query({.nodes = {{&relayed, 2}}}, routes) ==
        "1 of 230 nvlink, 1 of 460 nvlink, 2 of 25 pcie, 0 faults");
  relayed.pairs.push_back({1, 3, 1});  // now 1 reaches 2 over 3
  CHECK(query({.nodes = {{&relayed, 2}}}, routes) ==
        "1 of 230 nvlink, 1 of 460 nvlink, 2 of 230 nvlink, 0 faults");
}

TEST_CASE("faults of a wiring in pairs are rejected", "[make]") {
  const tests::CommandFolder place;
  const auto complaint = [&](const std::string& keys) -> std::string {
    place.write("k.yaml",
                "gpu: a100-80gb\ngpus: 4\nlink_bandwidth: 230 GB/s\n"
                "nic_bandwidth: 24 GB/s\n" +
                    keys);
    try {
      cluster::read_node_kind(cluster::node_kind_tree((place.folder() / "k.yaml").string()), "k");
    } catch (const config::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint("wiring: pairs\npairs: [0-1, 2-3]\n") == "");
  CHECK_THAT(complaint("wiring: pairs\n"), Catch::Contains("the key pairs is missing"));
  CHECK_THAT(complaint("pairs: [0-1]\n"), Catch::Contains("wiring is not pairs"));
  CHECK_THAT(complaint("wiring: pairs\npairs: [0-4]\n"),
             Catch::Contains("pairs lists 0-4; allowed: each pair of GPUs 0 to 3 once"));
  CHECK_THAT(complaint("wiring: pairs\npairs: [0-1, 1-0]\n"), Catch::Contains("lists 0-1 twice"));
  for (const char* const pair : {"0", "0-0", "a-b", "0-1 x0", "0-1 xx", "0-1-2", "0-1 x2 x3"})
    CHECK_THAT(complaint(fmt::format("wiring: pairs\npairs: [{}]\n", pair)),
               Catch::Contains("allowed: two GPUs and a number of links, such as 0-1 or 0-1 x4"));
  CHECK_THAT(complaint("wiring: mesh\nplaces: [0, 1, 2, 3]\n"),
             Catch::Contains("neither cube_mesh nor twin_mesh"));
  CHECK_THAT(complaint("nics: 3\n"),
             Catch::Contains("nics is 3, which 4 GPUs cannot share evenly; use 2 with the same "
                             "bandwidth together: --nics 2 --nic '36 GB/s'"));  // 3 x 24 / 2
}

TEST_CASE("two GPUs share a NIC if a node has half as many NICs as GPUs", "[make]") {
  CHECK(query(request("a100-4nic", 2, "rail"), [](auto& cluster) {
          const auto& gpus = cluster.gpus();
          const auto link = [&](int gpu) {
            return cluster.link_name(cluster.route(gpus[gpu], gpus[8]).links.front());
          };
          return link(0) + " " + link(1) + " " + link(2);
        }) == "leaf-0-0_link_0_UP leaf-0-0_link_0_UP leaf-0-1_link_0_UP");
}

TEST_CASE("DGX-1 has six NVLinks per GPU, one or two per pair", "[make]") {
  const NodeKind& node = kind("dgx-1-v100");
  CHECK(query(request("dgx-1-v100", 1, "rail"), [&](auto& cluster) {
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

TEST_CASE("nodes of two kinds are numbered consecutively and have separate leaves", "[make]") {
  const PlatformRequest options{.nodes = {{&kind("dgx-a100"), 2}, {&kind("dgx-h100"), 1}}};
  CHECK(query(options, [](auto& cluster) {
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
  // Each of 512 leaves serves one rail of 32 nodes, as in NVIDIA's table of the DGX SuperPOD with
  // 64 SU.
  CHECK(std::count_if(platform->links.begin(), platform->links.end(),
                      [](const auto& link) { return link.link_class == "leaf-spine"; }) == 2 * 512);
}

TEST_CASE("the same request yields the same bytes, and the file records the command", "[make]") {
  PlatformRequest options = request("dgx-h100", 3, "dragonfly");
  options.made_by = "pipewright platform make --node dgx-h100";
  const std::string text = cluster::make_platform(options);
  CHECK(text == cluster::make_platform(options));
  CHECK_THAT(text, Catch::Contains("value=\"pipewright platform make --node dgx-h100\""));
  CHECK_THAT(text, Catch::Contains("nccl-tests, issue 290"));
}

TEST_CASE("invalid requests are rejected with the allowed values", "[make]") {
  const auto complaint = [](const PlatformRequest& options) -> std::string {
    try {
      cluster::make_platform(options);
    } catch (const cluster::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint(request("dgx-h100", 2, "hypercube")) ==
        "fabric 'hypercube' is unknown; choose from rail, rail-only, leaf-spine, fat-tree, "
        "dragonfly, dragonfly+, torus");
  PlatformRequest options = request("dgx-h100", 12, "torus");
  options.dimensions = {2, 2, 2};
  CHECK(complaint(options) ==
        "a torus of 2 x 2 x 2 has 8 corners, but there are 12 nodes; use 3 x 2 x 2");
  CHECK_THAT(complaint(request(PIPEWRIGHT_TEST_DATA "/nodes/pcie.yaml", 8, "torus")),
             Catch::Contains("leaf-spine"));
  options = request("dgx-h100", 2, "rail");
  options.oversubscription = 0;
  CHECK_THAT(complaint(options), Catch::StartsWith("oversubscription 0 must be from 0.01 to 100"));
  options.oversubscription = 1e300;
  CHECK_THAT(complaint(options), Catch::Contains("must be from 0.01 to 100"));
  options = request("dgx-h100", 7, "torus");
  options.dimensions = {2, 2, 2};
  CHECK_THAT(complaint(options), Catch::EndsWith("but there are 7 nodes; use 7"));
  CHECK_THAT(complaint(request("dgx-h100", 0, "rail")), Catch::StartsWith("0 nodes of dgx-h100"));
  CHECK_THROWS_WITH(cluster::find_node_kind("dgx"),
                    Catch::Contains("allowed: dgx-1-v100, dgx-a100, "));
}
