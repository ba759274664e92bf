#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/cluster/make/node_kind.hpp"
#include "sim/cluster/platform/error.hpp"

namespace pipewright::cluster {

// Text of an XML file, with indented lines.
class XmlText {
 public:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
    if (text_.size() > max_bytes)
      throw Error("the file would be larger than 1 GB")
          .allow("fewer nodes, or nodes with a switch, which need only one line each");
  }
  template <class... Values>
  void open(fmt::format_string<Values...> format, Values&&... values) {
    line(format, std::forward<Values>(values)...);
    ++depth_;
  }
  void close(std::string_view tag) {
    --depth_;
    line("</{}>", tag);
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t max_bytes = 1'000'000'000;
  std::string text_;
  std::size_t depth_ = 0;
};

// Escapes a text for an XML attribute.
std::string escaped(std::string_view text);

// Formats quantities for SimGrid: "24GBps", "1.7us".
inline std::string bandwidth_text(double bytes_per_second) {
  return fmt::format("{:.10g}GBps", bytes_per_second / 1e9);
}
inline std::string speed_text(double flops) { return fmt::format("{:.10g}Tf", flops / 1e12); }
inline std::string latency_text(double seconds) { return fmt::format("{:.10g}us", seconds * 1e6); }

// Writes the beginning of a platform file, before its zones: a comment with the sources of its
// numbers and `remarks`, and the message costs. close_platform() writes the end and returns the
// text.
void open_platform(XmlText& xml, const PlatformRequest& request,
                   std::span<const std::string> remarks);
std::string close_platform(XmlText& xml);
// Throws Error if there are more GPUs than can be simulated.
void check_gpus(std::uint64_t gpus);

inline constexpr double switch_latency = 0.2e-6;  // seconds, including the cable; an assumption

// Placement of the ports of a node's NICs: one leaf per NIC, or all on one leaf.
enum class Ports : std::uint8_t { by_rail, together };

// A leaf switch with its nodes, or with one rail of them: a zone `name` whose router is
// switch_of(leaf).
struct Leaf {
  std::string name;
  const NodeKind* kind = nullptr;
  std::uint32_t first_node = 0;
  std::uint32_t nodes = 0;
  std::uint32_t first_port = 0;  // counted over the ports of the whole cluster
  Ports ports = Ports::together;
  std::uint32_t rail = 0;  // by_rail: index of the NIC in each node
  std::string link_class;  // class of the links between GPUs
};

// Nodes that share their leaf switches: one leaf for all NICs, or one leaf for each NIC of a node.
struct Unit {
  std::vector<Leaf> leaves;
};

std::string switch_of(const Leaf& leaf);
// Bandwidth with which all nodes of a leaf together can send to it, in bytes/s.
double bandwidth_down(const Leaf& leaf);

// Class of the links between the GPUs of a kind: "nvlink", or "nvlink3" if the cluster has other
// generations too, so that each generation keeps its own parameters.
std::string link_class(const NodeKind& kind, const std::vector<NodeGroup>& groups);

// Divides the nodes into units of at most `leaf_nodes` nodes of the same kind.
std::vector<Unit> cut_into_units(const std::vector<NodeGroup>& groups, std::uint32_t leaf_nodes,
                                 Ports ports);

// Names of a node's ports: "node-3-nic-[0-7]" by rail, "port-[24-31]" together.
std::string ports_of(const Leaf& leaf, std::uint32_t node);

// Writes a node as a zone with its name: GPUs "NAME-gpu-0", .. and the links between them. If the
// GPUs are on a switch or on PCIe, the router is "NAME-switch". `nics` names the ports that they
// share.
void write_node(XmlText& xml, const NodeKind& kind, std::string_view name, std::string_view nics,
                std::string_view link_class);

// Writes the zone of all nodes that reach the fabric through NIC ports. Nodes that reach it over
// the host's PCIe are written with their leaf.
void write_nodes(XmlText& xml, const std::vector<Unit>& units);
void write_leaf(XmlText& xml, const Leaf& leaf);

// Writes a zone with a single router, which connects the zones around it.
void write_switch(XmlText& xml, const std::string& name);
// A duplex link between two zones, and the route over it, up from `below`.
struct Uplink {
  std::string name;
  std::string link_class;
  double bandwidth = 0;
  double latency = switch_latency;
  std::string below;
  std::string below_switch;
  std::string above;
  std::string above_switch;
};
void write_uplinks(XmlText& xml, const std::vector<Uplink>& uplinks);

// Functions that write the zone "fabric", one for each kind of fabric.

// Leaf-spine: all leaves are linked to each spine, or to a single spine that represents all
// switches that the leaves are cabled to. The uplinks of a leaf have the bandwidth of its nodes
// divided by the oversubscription.
void write_leaf_spine(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Leaves without spines: rails are connected only through NVLink.
void write_rails_alone(XmlText& xml, const std::vector<Unit>& units,
                       const PlatformRequest& request);

// Fat tree: the leaves of several units and the spines above them form a pod; cores connect the
// pods.
void write_fat_tree(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Groups of leaves with a link between any two leaves of a group and between any two groups:
// shortest paths through a balanced dragonfly (Kim et al. 2008, ISCA, section 3: a = 2p = 2h for a
// leaves per group, p nodes' links per leaf and h links per leaf to other groups).
void write_dragonfly(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Groups of leaves below spines, with a link from each spine to one spine of every other group, so
// that a group has one gateway per spine to each other group (Dragonfly+, Shpiner et al. 2017,
// HiPINEB). The number of spines is that of the leaves unless the request sets it.
void write_dragonfly_plus(XmlText& xml, const std::vector<Unit>& units,
                          const PlatformRequest& request);

// Every node is a leaf of its own and a corner of the torus. The bandwidth of its NICs is divided
// among its cables: two in each dimension, or one if the side has only two corners. Routes cross
// one dimension after the other.
void write_torus(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

}  // namespace pipewright::cluster
