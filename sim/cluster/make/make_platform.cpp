#include "sim/cluster/make/make_platform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/make/leaves.hpp"
#include "sim/cluster/make/message_costs.hpp"
#include "sim/cluster/platform/error.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::uint32_t max_cluster_gpus = 1U << 20U;
constexpr std::uint32_t max_spines = 1024;
constexpr std::uint32_t max_planes = 8;

struct FabricWriter {
  Fabric fabric;
  Ports ports;
  void (*write)(XmlText&, const std::vector<Unit>&, const PlatformRequest&);
};
constexpr std::array writers{
    FabricWriter{{.name = "rail",
                  .help = "one leaf per NIC of 32 nodes, with spines above (DGX H100 SuperPOD)",
                  .leaf_nodes = 32},
                 Ports::by_rail,
                 write_leaf_spine},
    FabricWriter{{.name = "rail-only",
                  .help = "one leaf per NIC of all nodes, without spines",
                  .leaf_nodes = max_cluster_gpus},
                 Ports::by_rail,
                 write_rails_alone},
    FabricWriter{{.name = "leaf-spine",
                  .help = "all NICs of 4 nodes on one leaf, with spines above",
                  .leaf_nodes = 4},
                 Ports::together,
                 write_leaf_spine},
    FabricWriter{{.name = "fat-tree",
                  .help = "three levels: rails of 32 nodes, pods of 4 rail groups, and a core",
                  .leaf_nodes = 32},
                 Ports::by_rail,
                 write_fat_tree},
    FabricWriter{{.name = "dragonfly",
                  .help = "groups of 4 leaves of 4 nodes, connected all to all",
                  .leaf_nodes = 4},
                 Ports::together,
                 write_dragonfly},
    FabricWriter{{.name = "dragonfly+",
                  .help = "groups of 4 leaves of 4 nodes below spines; each spine is connected to "
                          "all other groups",
                  .leaf_nodes = 4},
                 Ports::together,
                 write_dragonfly_plus},
    FabricWriter{{.name = "torus",
                  .help = "every node connected to its neighbours in three dimensions",
                  .leaf_nodes = 1},
                 Ports::together,
                 write_torus},
};

const FabricWriter& find_fabric(const std::string& name) {
  std::vector<std::string_view> names;
  for (const FabricWriter& writer : writers) {
    if (writer.fabric.name == name) return writer;
    names.push_back(writer.fabric.name);
  }
  throw Error(fmt::format("fabric '{}' is unknown", name))
      .suggest(fmt::format("choose from {}", fmt::join(names, ", ")));
}

void check_request(const PlatformRequest& request) {
  if (request.nodes.empty()) throw Error("a platform needs nodes");
  std::uint64_t gpus = 0;
  for (const NodeGroup& group : request.nodes) {
    if (group.count == 0)
      throw Error(fmt::format("0 nodes of {}", group.kind->name)).allow("at least 1");
    gpus += std::uint64_t{group.count} * group.kind->gpus;
  }
  check_gpus(gpus);
  for (const auto& [name, ratio] :
       {std::pair{"oversubscription", request.oversubscription},
        std::pair{"core oversubscription", request.core_oversubscription}})
    if (std::isnan(ratio) || ratio < 0.01 || ratio > 100)
      throw Error(fmt::format(
          "{} {:g} must be from 0.01 to 100; 1 is non-blocking, 2 halves the uplink bandwidth",
          name, ratio));
  if (request.spines > max_spines || request.planes == 0 || request.planes > max_planes)
    throw Error(fmt::format("{} spines and {} planes", request.spines, request.planes))
        .allow(fmt::format("at most {} spines, 1 to {} planes", max_spines, max_planes));
  if (request.fabric == "torus" && request.leaf_nodes > 1)
    throw Error(fmt::format("a torus has one node per corner, not {}", request.leaf_nodes));
  if (request.pod_leaves == 0 || request.group_leaves == 0)
    throw Error("a pod or a group has 0 leaves").allow("at least 1");
}

// Adds the launch latency of each node kind to the comment if they differ, because the platform
// file has only one number for all.
void write_common_launch(XmlText& xml, const PlatformRequest& request) {
  std::set<double> launches;
  std::vector<std::string> descriptions;
  for (const NodeGroup& group : request.nodes) {
    const double launch = launch_of(*group.kind);
    launches.insert(launch);
    descriptions.push_back(fmt::format("{} on {}", latency_text(launch), group.kind->name));
  }
  if (launches.size() < 2) return;
  xml.line("Of several kinds, an operation takes the longest launch: {}.",
           fmt::join(descriptions, ", "));
}

void write_comment(XmlText& xml, const PlatformRequest& request,
                   std::span<const std::string> remarks) {
  std::set<std::string, std::less<>> written;
  xml.line("<!--");
  // Adds a text, unless it is there already. XML comments may not contain two hyphens in a row.
  const auto add_text = [&](std::string_view lines) {
    if (lines.empty() || !written.insert(std::string(lines)).second) return;
    std::string text(lines);
    for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at))
      text.insert(at + 1, " ");
    xml.line("{}", text);
  };
  for (const NodeGroup& group : request.nodes) {
    add_text(fmt::format("{}: {}.", group.kind->name, group.kind->help));
    for (const std::string& lines : group.kind->sources) add_text(lines);
  }
  for (const std::string& lines : remarks) add_text(lines);
  add_text(latency_source());
  add_text(message_source());
  write_common_launch(xml, request);
  xml.line(
      "A bandwidth is what payload reaches in one direction. Links of several cables, as those");
  xml.line("between switches, have the sum, as adaptive routing spreads over them.");
  xml.line("-->");
}

}  // namespace

std::span<const Fabric> fabrics() {
  static const std::vector<Fabric> list_of_fabrics = [] {
    std::vector<Fabric> list;
    for (const FabricWriter& writer : writers) list.push_back(writer.fabric);
    return list;
  }();
  return list_of_fabrics;
}

void check_gpus(std::uint64_t gpus) {
  if (gpus > max_cluster_gpus)
    throw Error(fmt::format("{} GPUs exceed the limit for simulation", gpus))
        .allow(fmt::format("at most {}", max_cluster_gpus));
}

void open_platform(XmlText& xml, const PlatformRequest& request,
                   std::span<const std::string> remarks) {
  xml.line("<?xml version=\"1.0\"?>");
  xml.line("<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">");
  write_comment(xml, request, remarks);
  xml.open("<platform version=\"4.1\">");
  xml.open("<zone id=\"cluster\" routing=\"None\">");
  if (!request.made_by.empty())
    xml.line("<prop id=\"made-by\" value=\"{}\"/>", escaped(request.made_by));
  write_message_costs(xml, request);
}

std::string close_platform(XmlText& xml) {
  xml.close("zone");
  xml.close("platform");
  return xml.take();
}

std::string make_platform(const PlatformRequest& original) {
  check_request(original);
  PlatformRequest request = original;
  // Each NIC has one port per plane. A port is written as a NIC with its share of the bandwidth.
  std::vector<NodeKind> kinds;
  for (const NodeGroup& group : original.nodes) kinds.push_back(*group.kind);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (request.planes > 1 && kinds[i].wiring == NodeKind::Wiring::pcie)
      throw Error(fmt::format("planes need a NIC per GPU, which {} does not have", kinds[i].name));
    kinds[i].nics *= request.planes;
    kinds[i].nic_bandwidth /= request.planes;
    request.nodes[i].kind = &kinds[i];
  }
  const FabricWriter& writer = find_fabric(request.fabric);
  const std::uint32_t leaf_nodes =
      request.leaf_nodes != 0 ? request.leaf_nodes : writer.fabric.leaf_nodes;
  const std::vector<Unit> units = cut_into_units(request.nodes, leaf_nodes, writer.ports);
  XmlText xml;
  open_platform(xml, request, {});
  write_nodes(xml, units);
  writer.write(xml, units, request);
  return close_platform(xml);
}

}  // namespace pipewright::cluster
