#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/checks/describe.hpp"
#include "sim/cluster/checks/faults.hpp"
#include "sim/cluster/cluster.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/import/import_data.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::FabricParts;
using cluster::NodeKind;
using tests::sample;
using tests::typed;

namespace {

// Returns a kind of node with two GPUs and two NICs, like the hosts with two adapters in the
// sample.
NodeKind two_gpus() {
  NodeKind kind = cluster::find_node_kind("dgx-a100");
  kind.gpus = 2;
  kind.nics = 2;
  return kind;
}

const std::string one_switch =
    "Switch\t41 \"S-1\"\t\t# \"MF0;leaf:MQM8700/U1\" enhanced port 0 lid 1 lmc 0\n"
    "[1]\t\"H-1\"[1](1) \t\t# \"a mlx5_0\" lid 2 4xHDR\n"
    "[2]\t\"H-2\"[1](2) \t\t# \"b mlx5_0\" lid 3 2xHDR\n";

std::string fault_of(const std::string& text) {
  return tests::fault_of([&] { cluster::read_ibnetdiscover(typed(text)); });
}

}  // namespace

TEST_CASE("ibnetdiscover yields switches, each cable once, and hosts by name", "[import]") {
  const FabricParts parts = cluster::read_ibnetdiscover(sample("ibnetdiscover.txt"));
  std::string names;
  for (const auto& network_switch : parts.switches) names += network_switch.name + " ";
  CHECK(names == "leaf-1 leaf-2 spine-1 spine-2 ");
  CHECK(parts.cables.size() == 2 * 2 * 2);  // leaves x spines x parallel cables
  CHECK(std::ranges::all_of(
      parts.cables, [](const auto& network_switch) { return network_switch.rate == 25e9; }));
  REQUIRE(parts.hosts.size() == 4);
  CHECK(parts.hosts[3].name == "node-4");
  REQUIRE(parts.hosts[3].ports.size() == 2);
  CHECK(parts.hosts[3].ports[1].device == "mlx5_1");
  CHECK(parts.switches[parts.hosts[3].ports[1].switch_index].name == "leaf-2");
  REQUIRE(tests::finding(parts.findings, "left out") != nullptr);
  CHECK(tests::finding(parts.findings, "left out")->value == "1 aggregation nodes");
}

TEST_CASE("rates follow from lanes and speed, and hosts need no block of their own", "[import]") {
  const FabricParts parts = cluster::read_ibnetdiscover(typed(one_switch));
  REQUIRE(parts.hosts.size() == 2);
  CHECK(parts.hosts[0].ports[0].rate == 25e9);    // 4 x 50 Gb/s
  CHECK(parts.hosts[1].ports[0].rate == 12.5e9);  // 2 x 50 Gb/s
}

TEST_CASE(
    "parallel cables become one link with their sum, and parallel spines stay separate switches",
    "[import]") {
  const NodeKind kind = two_gpus();
  const tests::CommandFolder place;
  const auto made =
      cluster::import_fabric(cluster::read_ibnetdiscover(sample("ibnetdiscover.txt")), kind, {});
  place.write("f.xml", made.xml);
  CHECK(tests::finding(made.findings, "cables between switches")->value == "8 in 4 links");
  CHECK(tests::finding(made.findings, "switches")->value == "4: 2 leaf, 2 spine");
  CHECK(tests::in_child([&] {
          const cluster::Cluster cluster = cluster::Cluster::load(place.folder() / "f.xml");
          std::string text = fmt::format("{} GPUs,", cluster.gpus().size());
          for (const auto& link : cluster::describe(cluster).links)
            text += fmt::format(" {} {} x {:g}", link.link_class, link.count, link.bandwidth / 1e9);
          // The route from the first to the last GPU crosses a NIC of 24 GB/s, an uplink of 2 x 24
          // GB/s, a downlink and a NIC.
          const auto route = cluster.route(cluster.gpus().front(), cluster.gpus().back());
          return text + fmt::format(", {} links of {:g} GB/s and {:g} us", route.path().size(),
                                    route.bandwidth / 1e9, route.latency * 1e6);
        }) == "8 GPUs, leaf-spine 4 x 48 nic 8 x 24 nvlink 8 x 230, 4 links of 24 GB/s and 29 us");
  for (const char* id : {"\"leaf-1--spine-2\"", "\"node-3-nic-1\"", "\"spine-1-switch\""})
    CHECK_THAT(made.xml, Catch::Contains(id));
}

TEST_CASE("hosts whose NICs differ from their kind are rejected or left out", "[import]") {
  const NodeKind dgx_a100 = cluster::find_node_kind("dgx-a100");
  const auto make = [&](const NodeKind& kind, const cluster::FabricOptions& options) {
    return cluster::import_fabric(cluster::read_ibnetdiscover(typed(
                                      one_switch + "[3]\t\"H-3\"[1](3) # \"c mlx5_0\" lid 4 4xHDR\n"
                                                   "[4]\t\"H-4\"[1](4) # \"c mlx5_1\" lid 5\n")),
                                  kind, options);
  };
  CHECK_THAT(tests::fault_of([&] { make(dgx_a100, {}); }),
             Catch::StartsWith("2: host 'a' (and 2 more) has 1 NIC ports here (mlx5_0), but "
                               "dgx-a100 has 8; allowed: "));
  NodeKind kind = two_gpus();
  kind.nics = 1;
  CHECK_THAT(tests::fault_of([&] { make(kind, {}); }), Catch::StartsWith("4: host 'c' has 2"));
  const auto made = make(kind, {.skip_incomplete = true});
  CHECK(tests::finding(made.findings, "nodes")->value == "2, 4 GPUs");
  CHECK(tests::finding(make(two_gpus(), {.only = {"c"}}).findings, "unknown rates")->value ==
        "24 GB/s of 1 cables");
  CHECK_THAT(tests::fault_of([&] { make(kind, {.only = {"x*"}}); }),
             Catch::Contains("--only x* and --skip  exclude every host"));
}

TEST_CASE("cables that trained to a lower rate than most are named", "[import]") {
  // One of two cables from leaf-1 to spine-1 has 2xHDR instead of 4xHDR, at both ends. Line 15 is
  // that of leaf-1, whose ports come first.
  cluster::SourceText source = sample("ibnetdiscover.txt");
  for (const std::string end :
       {"\"S-0000000000000011\"[1]\t\t# \"MF0;spine-1:MQM8700/U1\" lid 30 ",
        "\"S-0000000000000001\"[10]\t\t# \"MF0;leaf-1:MQM8700/U1\" lid 21 "}) {
    const std::size_t at = source.text.find(end);
    REQUIRE(at != std::string::npos);
    source.text.replace(at + end.size(), 5, "2xHDR");
  }
  const auto made = cluster::import_fabric(cluster::read_ibnetdiscover(source), two_gpus(), {});
  const cluster::Finding* const note = tests::finding(made.findings, "trained lower");
  REQUIRE(note != nullptr);
  CHECK(note->value == "1 of 8 leaf-spine cables: leaf-1--spine-1 at 12.5 GB/s of 25 GB/s");
  CHECK_THAT(note->origin, Catch::StartsWith("ibnetdiscover.txt:15; "));
  CHECK(tests::finding(cluster::import_fabric(
                           cluster::read_ibnetdiscover(sample("ibnetdiscover.txt")), two_gpus(), {})
                           .findings,
                       "trained lower") == nullptr);
  // platform check names the link: 12 + 24 = 36 GB/s of payload instead of 48.
  const tests::CommandFolder place;
  place.write("f.xml", made.xml);
  CHECK_THAT(tests::in_child([&] {
               std::string text;
               for (const auto& fault :
                    cluster::find_faults(cluster::Cluster::load(place.folder() / "f.xml")).faults)
                 text += fault.message + "\n";
               return text;
             }),
             Catch::Contains("has 36 GB/s, but most links of class 'leaf-spine' have 48; did a "
                             "cable train to a lower rate?"));
}

TEST_CASE("cables that all trained lower than the ports of their switches are named", "[import]") {
  // Quantum-2 switches (0xd2f2) have ports of 4xNDR, 50 GB/s, and the cables 4xHDR.
  cluster::SourceText source = sample("ibnetdiscover.txt");
  const std::string device = "devid=0xd2f0";
  for (std::size_t at = 0; (at = source.text.find(device, at)) != std::string::npos;)
    source.text.replace(at, device.size(), "devid=0xd2f2");
  const auto made = cluster::import_fabric(cluster::read_ibnetdiscover(source), two_gpus(), {});
  REQUIRE(tests::finding(made.findings, "trained lower") != nullptr);
  CHECK(tests::finding(made.findings, "trained lower")->value ==
        "8 of 8 leaf-spine cables: leaf-1--spine-1, .. at 25 GB/s of 50 GB/s");
}

TEST_CASE("malformed output of ibnetdiscover is rejected with its line", "[import]") {
  CHECK_THAT(
      fault_of(one_switch + "[3] H-3[1]\n"),
      Catch::StartsWith("4: the number of the port or of its remote end is missing; expected"));
  CHECK_THAT(fault_of(one_switch + one_switch),
             Catch::StartsWith("4: 'S-1' has a second block; the first one is at line 1"));
  CHECK_THAT(fault_of(one_switch + "[1]\t\"H-9\"[1](9) # \"c mlx5_0\" lid 2 4xHDR\n"),
             Catch::StartsWith("4: port 1 of 'S-1' is listed twice, first at line 2"));
  CHECK_THAT(
      fault_of(one_switch + "[3]\t\"H-9\"[1](9) # \"c mlx5_0\" lid 2 4xHDX\n"),
      Catch::StartsWith("4: '4xHDX' is not a rate; allowed: lanes and speed, such as 4xNDR (SDR"));
  CHECK_THAT(fault_of(one_switch + "Ca\t1 \"H-1\"\t# \"a mlx5_0\"\n[1](1) \"S-1\"[7] # lid 1\n"),
             Catch::StartsWith("2: ") || Catch::StartsWith("5: "));
  CHECK_THAT(fault_of("Switch 3 \"S-1\" # \"x\"\n"), Catch::Contains("no Ca names its host"));
  CHECK_THAT(fault_of("[1] \"H-1\"[1]\n"), Catch::StartsWith("1: a port comes before the first"));
  CHECK_THAT(fault_of(one_switch + "hello\n"), Catch::StartsWith("4: 'hello' is not a line"));
}

TEST_CASE("disconnected switches are reported with a host of each part", "[import]") {
  NodeKind kind = two_gpus();
  kind.nics = 1;
  const std::string second_switch =
      "Switch\t41 \"S-2\"\t\t# \"MF0;far:MQM8700/U1\" enhanced port 0 lid 9 lmc 0\n"
      "[1]\t\"H-9\"[1](9) \t\t# \"z mlx5_0\" lid 10 4xHDR\n";
  CHECK_THAT(tests::fault_of([&] {
               cluster::import_fabric(
                   cluster::read_ibnetdiscover(typed(one_switch + second_switch)), kind, {});
             }),
             Catch::StartsWith("5: switch 'far' of host 'z' is not connected to switch 'leaf' "
                               "of host 'a'"));
}
