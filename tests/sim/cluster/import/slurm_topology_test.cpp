#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/checks/describe.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/import/recognise.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/import/import_data.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::FabricParts;
using tests::sample;
using tests::typed;

namespace {

std::string fault_of(const std::string& text) {
  return tests::fault_of([&] { cluster::read_slurm_conf(typed(text)); });
}
std::string fault_of_yaml(const std::string& text, const std::string& name = "") {
  try {
    return tests::fault_of([&] { cluster::read_slurm_yaml(typed(text), name); });
  } catch (const config::Error& error) {
    return error.what();
  }
}

// Describes a platform in one line: GPUs, links by class, and the route from the first GPU to the
// last.
std::string summary(const std::string& xml) {
  const tests::CommandFolder place;
  place.write("f.xml", xml);
  return tests::in_child([&] {
    const cluster::Cluster cluster = cluster::Cluster::load(place.folder() / "f.xml");
    const auto description = cluster::describe(cluster);
    std::string text = fmt::format("{} nodes, {} GPUs,", description.nodes, cluster.gpus().size());
    for (const auto& link : description.links)
      text += fmt::format(" {} {} x {:g}", link.link_class, link.count, link.bandwidth / 1e9);
    const auto route = cluster.route(cluster.gpus().front(), cluster.gpus().back());
    return text + fmt::format(", {} links, {:g} GB/s", route.links.size(), route.bandwidth / 1e9);
  });
}

}  // namespace

TEST_CASE("topology.conf becomes a tree whose uplinks carry the bandwidth of the hosts below",
          "[import]") {
  const cluster::NodeKind kind = cluster::find_node_kind("dgx-h100");
  const auto made = cluster::import_fabric(cluster::read_slurm_conf(sample("topology.conf")), kind,
                                           {.oversubscription = 2});
  // A leaf's uplink has half of its nodes' bandwidth: 4 nodes x 8 NICs x 49 GB/s / 2 = 784 GB/s.
  CHECK(summary(made.xml) ==
        "8 nodes, 64 GPUs, leaf-spine 2 x 784 nic 64 x 49 nvlink 64 x 370, 4 links, 49 GB/s");
  CHECK_THAT(made.xml, Catch::Contains("\"node001-gpu-\""));
}

TEST_CASE("blocks become NVLink domains, the largest with all GPUs of the kind", "[import]") {
  const cluster::NodeKind kind = cluster::find_node_kind("gb200-nvl72");
  const auto made =
      cluster::import_fabric(cluster::read_slurm_conf(sample("blocks.conf")), kind, {});
  // The largest block has 18 trays of 72 / 18 = 4 GPUs and an uplink of 72 x 49 = 3528 GB/s, the
  // other block 16 trays and 64 x 49 = 3136 GB/s.
  CHECK(summary(made.xml) ==
        "2 nodes, 136 GPUs, leaf-spine 1 x 3136 leaf-spine 1 x 3528 nic 136 x 49 nvlink 136 x 677, "
        "4 links, 49 GB/s");
  CHECK(tests::finding(made.findings, "GPUs per host")->value == "4, with 4 NICs");
  CHECK(tests::finding(made.findings, "top switch")->value == "core");
  CHECK_THAT(tests::fault_of([&] {
               cluster::import_fabric(cluster::read_slurm_conf(typed("BlockName=b Nodes=t[1-7]\n")),
                                      kind, {});
             }),
             Catch::StartsWith("1: 72 GPUs and 72 NICs of gb200-nvl72 cannot be divided evenly "
                               "among 7 hosts of a block; give"));
  const auto part = cluster::import_fabric(
      cluster::read_slurm_conf(typed("BlockName=b Nodes=t[1-7]\n")), kind, {.host_gpus = 4});
  CHECK(tests::finding(part.findings, "NVLink domains")->value == "1, 28 GPUs");
}

TEST_CASE("the named topology is read, or else the cluster's default", "[import]") {
  const FabricParts main = cluster::read_slurm_yaml(sample("topology.yaml"), "");
  CHECK(main.domains.empty());
  CHECK(main.hosts.size() == 8);
  CHECK(main.cables.size() == 2);
  const FabricParts racks = cluster::read_slurm_yaml(sample("topology.yaml"), "racks");
  CHECK(racks.domains.size() == 2);
  CHECK(racks.hosts.size() == 36);
}

TEST_CASE("topology.conf can have blank, continued and commented lines", "[import]") {
  const FabricParts parts = cluster::read_slurm_conf(
      typed("# a\n\nswitchname=s \\\n  SWITCHES=l[1-2] # up\nSwitchName=l1 Nodes=a\n"
            "SwitchName=l2 Nodes=b LinkSpeed=100\n"));
  CHECK(parts.switches.size() == 3);
  CHECK(parts.switches[0].line == 3);
}

TEST_CASE("the output of scontrol show topology is a tree of leaves", "[import]") {
  const FabricParts parts = cluster::read_slurm_conf(
      typed("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[001-016] Switches=(null)\n"
            "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=node[017-032]\n"
            "SwitchName=spine Level=1 LinkSpeed=1 Nodes=node[001-032] Switches=leaf[1-2]\n"));
  REQUIRE(parts.switches.size() == 3);
  CHECK(parts.cables.size() == 2);
  REQUIRE(parts.hosts.size() == 32);
  for (std::size_t i = 0; i < 32; ++i) {
    REQUIRE(parts.hosts[i].ports.size() == 1);
    CHECK(parts.hosts[i].ports[0].switch_index == i / 16);
  }
  CHECK_FALSE(parts.switches[2].is_leaf);
  CHECK(cluster::recognise(typed("SwitchName=s Level=0 Nodes=a\n")) ==
        cluster::SourceKind::slurm_conf);
}

TEST_CASE("the output of scontrol has three levels and names with several brackets", "[import]") {
  const FabricParts parts = cluster::read_slurm_conf(
      typed("SwitchName=l1 Level=0 Nodes=r[1-2]n[01-02]\n"
            "SwitchName=l2 Level=0 LinkSpeed=1 Nodes=r3n[01-02],login\n"
            "SwitchName=s1 Level=1 LinkSpeed=1 Nodes=r1n[01-02],r2n[01-02] Switches=l1\n"
            "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=login,r3n[01-02] Switches=l2\n"
            "SwitchName=core Level=2 LinkSpeed=1 Nodes=login,r[1-3]n[01-02] Switches=s[1-2]\n"));
  CHECK(parts.switches.size() == 5);
  CHECK(parts.cables.size() == 4);
  CHECK(parts.hosts.size() == 4 + 3);
}

TEST_CASE("wrapped lines of scontrol are joined", "[import]") {
  const FabricParts parts = cluster::read_slurm_conf(
      typed("SwitchName=l1 Level=0 LinkSpeed=1\n   Nodes=node[001-002,\n   003-004],node005,\n"
            "   node006\nSwitchName=l2 Level=0 LinkSpeed=1 Nodes=node[007-0\n08,009-010]\n"
            "SwitchName=s Level=1 LinkSpeed=1 Nodes=node[001-010]\n   Switches=l[1-2]\n"));
  CHECK(parts.switches.size() == 3);
  REQUIRE(parts.hosts.size() == 10);
  CHECK(parts.hosts[5].name == "node006");
  CHECK(parts.hosts[5].ports[0].switch_index == 0);
  CHECK(parts.hosts[7].name == "node008");
  CHECK(parts.hosts[7].ports[0].switch_index == 1);
  CHECK(parts.switches[1].line == 5);
}

TEST_CASE("blocks of scontrol are NVLink domains, and aggregated blocks add no nodes", "[import]") {
  const FabricParts parts = cluster::read_slurm_conf(
      typed("BlockName=b1 BlockIndex=0 Nodes=t[01-18] BlockSize=18\n"
            "BlockName=b2 BlockIndex=1 Nodes=t[19-36] BlockSize=18\n"
            "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=t[01-36] BlockSize=36\n"));
  CHECK(parts.domains.size() == 2);
  CHECK(parts.hosts.size() == 36);
}

TEST_CASE("incomplete output of scontrol is rejected with its line", "[import]") {
  CHECK(fault_of("SwitchName=l1 Level=0 Nodes=a[1-4]\n"
                 "SwitchName=s Level=1 Nodes=a[1-8] Switches=l1\n") ==
        "2: node 'a5' is below switch 's', but on no leaf below it; use the whole output of "
        "'scontrol show topology'");
  CHECK_THAT(fault_of("SwitchName=l1 Level=0 Nodes=a\nSwitchName=l2 Level=0 Nodes=b\n"
                      "SwitchName=s Level=1 Nodes=a,b Switches=l1\n"),
             Catch::StartsWith("3: node 'b' is below switch 's', but on no leaf below it"));
  CHECK_THAT(fault_of("SwitchName=l1 Level=0 Nodes=a\nand 3 more\n"),
             Catch::StartsWith("2: 'and' is not KEY=VALUE"));
  CHECK_THAT(fault_of("SwitchName=l1 Level=0 Nodes=a[1-\n\nSwitchName=l2 Level=0 Nodes=b\n"),
             Catch::StartsWith("1: 'a[1-' is not a hostlist: '[' is not closed"));
  // topology.conf has no levels, and its switches have either switches or nodes.
  CHECK_THAT(fault_of("SwitchName=l1 Nodes=a\nSwitchName=s Nodes=a Switches=l1\n"),
             Catch::StartsWith("2: switch 's' has both switches and nodes"));
}

TEST_CASE("a malformed topology.conf is rejected with its line", "[import]") {
  const std::string leaves = "SwitchName=l1 Nodes=a\nSwitchName=l2 Nodes=b\n";
  CHECK_THAT(fault_of(leaves + "SwitchName=s Switches=l[1-3]\n"),
             Catch::StartsWith("3: switch 'l3' is below 's', but no line defines it"));
  CHECK_THAT(fault_of(leaves + "SwitchName=l3 Nodes=a\n"),
             Catch::StartsWith("3: node 'a' is also on switch 'l1' (line 1)"));
  CHECK_THAT(fault_of(leaves + "SwitchName=l1 Nodes=c\n"),
             Catch::StartsWith("3: switch 'l1' is defined twice, first at line 1"));
  CHECK_THAT(fault_of(leaves + "SwitchName=s Switches=l1\nSwitchName=t Switches=l[1-2]\n"),
             Catch::StartsWith("4: switch 'l1' is also below 's' (line 3)"));
  CHECK_THAT(fault_of(leaves + "SwitchName=s Switches=t\nSwitchName=t Switches=s\n"),
             Catch::StartsWith("3: switch 's' is above itself"));
  CHECK_THAT(fault_of(leaves + "SwitchName=s\n"), Catch::Contains("neither switches nor nodes"));
  CHECK_THAT(fault_of(leaves + "SwitchName=s Switch=l1\n"),
             Catch::StartsWith("3: key 'switch' is unknown; allowed: SwitchName, "));
  CHECK_THAT(fault_of(leaves + "SwitchName=l3 Nodes=n[1-\n"),
             Catch::StartsWith("3: 'n[1-' is not a hostlist: '[' is not closed"));
  CHECK_THAT(fault_of(leaves + "BlockName=b Nodes=a\n"),
             Catch::StartsWith("2: node 'b' is not in a block"));
}

TEST_CASE("a malformed topology.yaml is rejected with its line", "[import]") {
  CHECK_THAT(fault_of_yaml("- topology: a\n  flat: true\n"),
             Catch::StartsWith("1: has no topology with a tree or a block"));
  CHECK_THAT(fault_of_yaml("- topology: a\n  flat: true\n", "a"),
             Catch::Contains("is a flat topology"));
  CHECK_THAT(fault_of_yaml("- topology: a\n  tree:\n    switches: []\n", "b"),
             Catch::StartsWith("1: has no topology 'b'; choose from a"));
  CHECK_THAT(fault_of_yaml("- topology: a\n  tree:\n    switches:\n      - nodes: x\n"),
             Catch::StartsWith("4: switch is missing"));
  CHECK_THAT(fault_of_yaml("- topology: a\n  tree: [\n"),
             Catch::StartsWith("a.txt:3:1: YAML syntax"));
}
