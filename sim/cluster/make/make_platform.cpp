#include "sim/cluster/make/make_platform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/make/leaves.hpp"
#include "sim/cluster/make/topologies.hpp"

namespace pipewright::cluster {
namespace {

struct FabricWriter {
  Fabric fabric;
  Ports ports;
  void (*write)(XmlText&, const std::vector<Unit>&, const PlatformRequest&);
};
constexpr std::array writers{
    FabricWriter{{.name = "rail",
                  .help = "a leaf for each NIC of 32 nodes, and spines above: DGX SuperPOD's",
                  .leaf_nodes = 32},
                 Ports::by_rail,
                 write_leaf_spine},
    FabricWriter{{.name = "leaf-spine",
                  .help = "all NICs of 4 nodes on one leaf, and spines above",
                  .leaf_nodes = 4},
                 Ports::together,
                 write_leaf_spine},
    FabricWriter{{.name = "fat-tree",
                  .help = "three levels: rails of 32 nodes, pods of 4 such, and a core",
                  .leaf_nodes = 32},
                 Ports::by_rail,
                 write_fat_tree},
    FabricWriter{{.name = "dragonfly",
                  .help = "groups of 4 leaves of 4 nodes, all joined to all",
                  .leaf_nodes = 4},
                 Ports::together,
                 write_dragonfly},
    FabricWriter{{.name = "torus",
                  .help = "a node is joined to its neighbours in three dimensions",
                  .leaf_nodes = 1},
                 Ports::one,
                 write_torus},
};

const FabricWriter& find_fabric(const std::string& name) {
  std::vector<std::string_view> names;
  for (const FabricWriter& writer : writers) {
    if (writer.fabric.name == name) return writer;
    names.push_back(writer.fabric.name);
  }
  throw Error(fmt::format("no fabric is called '{}'; there are {}", name, fmt::join(names, ", ")));
}

void check(const PlatformRequest& request) {
  if (request.nodes.empty()) throw Error("a platform needs nodes");
  for (const NodeGroup& group : request.nodes)
    if (group.count == 0) throw Error(fmt::format("0 nodes of {}; 1 at least", group.kind->name));
  for (const auto& [name, ratio] :
       {std::pair{"oversubscription", request.oversubscription},
        std::pair{"core oversubscription", request.core_oversubscription}})
    if (!(ratio > 0) || std::isinf(ratio))
      throw Error(
          fmt::format("{} {:g} must be finite and > 0; 1 blocks nothing, 2 halves what "
                      "goes up",
                      name, ratio));
  if (request.pod_leaves == 0 || request.group_leaves == 0)
    throw Error("a pod, or a group, of 0 leaves; 1 at least");
}

void write_comment(XmlText& xml, const PlatformRequest& request) {
  std::set<std::string_view> told;
  xml.line("<!--");
  const auto tell = [&](std::string_view lines) {
    if (!lines.empty() && told.insert(lines).second) xml.line("{}", lines);
  };
  for (const NodeGroup& group : request.nodes) {
    xml.line("{}: {}.", group.kind->name, group.kind->help);
    for (const std::string_view lines : group.kind->sources) tell(lines);
  }
  tell(latency_source());
  tell(protocol_source());
  xml.line(
      "A bandwidth is what payload reaches in one direction. Links of several cables, as those");
  xml.line("between switches, have the sum, as adaptive routing spreads over them.");
  xml.line("-->");
}

// What messages cost beside links: see sim/cluster/message_model.hpp and protocol_source().
void write_message_model(XmlText& xml, const PlatformRequest& request) {
  double launch = 0;
  double sharp = 0;
  bool has_nvlink = false;
  bool has_pcie = false;
  for (const NodeGroup& group : request.nodes) {
    launch = std::max(launch, group.kind->launch);
    has_nvlink = has_nvlink || group.kind->wiring != NodeKind::Wiring::pcie;
    has_pcie = has_pcie || group.kind->wiring != NodeKind::Wiring::nvswitch;
    sharp =
        &group == &request.nodes.front() ? group.kind->sharp : std::min(sharp, group.kind->sharp);
  }
  const auto write = [&](std::string_view name, const auto& value) {
    xml.line("<prop id=\"{}\" value=\"{}\"/>", name, value);
  };
  write("collective.launch", latency_text(launch));
  write("collective.ll128-launch", "7us");
  write("collective.message", "2.5us");
  write("collective.ring-ends", "0.33");
  if (has_nvlink) {
    write("nvlink.ll-latency", "0.18");
    write("nvlink.ll-efficiency", "0.38");
    write("nvlink.ll128-latency", "0.56");
    write("nvlink.ll128-efficiency", "0.92");
  }
  if (sharp > 0) {
    write("nvlink.sharp-latency", "25us");
    write("nvlink.sharp-efficiency", sharp);
  }
  if (has_pcie) {
    write("pcie.ll-latency", "0.18");
    write("pcie.ll-efficiency", "0.38");
  }
  if (request.fabric == "torus") return;  // its links are no NICs'
  write("nic.ll-latency", "0.19");
  write("nic.ll-efficiency", "0.12");
  // NCCL takes LL128 over a network where NVLink leads to the NICs.
  if (!has_nvlink) return;
  write("nic.ll128-latency", "0.29");
  write("nic.ll128-efficiency", "0.92");
}

}  // namespace

std::span<const Fabric> fabrics() {
  static const std::vector<Fabric> all = [] {
    std::vector<Fabric> list;
    for (const FabricWriter& writer : writers) list.push_back(writer.fabric);
    return list;
  }();
  return all;
}

std::string make_platform(const PlatformRequest& request) {
  check(request);
  const FabricWriter& writer = find_fabric(request.fabric);
  const std::uint32_t leaf_nodes =
      request.leaf_nodes != 0 ? request.leaf_nodes : writer.fabric.leaf_nodes;
  const std::vector<Unit> units = cut_into_units(request.nodes, leaf_nodes, writer.ports);
  XmlText xml;
  xml.line("<?xml version=\"1.0\"?>");
  xml.line("<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">");
  write_comment(xml, request);
  xml.open("<platform version=\"4.1\">");
  xml.open("<zone id=\"cluster\" routing=\"None\">");
  if (!request.made_by.empty()) xml.line("<prop id=\"made-by\" value=\"{}\"/>", request.made_by);
  write_message_model(xml, request);
  write_nodes(xml, units);
  writer.write(xml, units, request);
  xml.close("zone");
  xml.close("platform");
  return xml.take();
}

}  // namespace pipewright::cluster
