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

// The lines of an XML file, indented.
class XmlText {
 public:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
    if (text_.size() > most_bytes)
      throw Error(
          "the file would have more than 1 GB; allowed: fewer nodes, or nodes whose GPUs are on a "
          "switch, which are a line each");
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
  static constexpr std::size_t most_bytes = 1'000'000'000;
  std::string text_;
  std::size_t depth_ = 0;
};

// As an attribute of XML may hold it.
std::string escaped(std::string_view text);

// "24GBps", "1.7us", as SimGrid reads them and as exactly as they print.
inline std::string bandwidth_text(double bytes_per_second) {
  return fmt::format("{:.10g}GBps", bytes_per_second / 1e9);
}
inline std::string speed_text(double flops) { return fmt::format("{:.10g}Tf", flops / 1e12); }
inline std::string latency_text(double seconds) { return fmt::format("{:.10g}us", seconds * 1e6); }

// A platform file up to where its zones begin: what its numbers rest on, `remarks` among it, and
// what messages cost beside links. And its end, with the text of it all.
void open_platform(XmlText& xml, const PlatformRequest& request,
                   std::span<const std::string> remarks);
std::string close_platform(XmlText& xml);
// Throws Error for more than can be simulated.
void check_gpus(std::uint64_t gpus);

inline constexpr double switch_latency = 0.2e-6;  // seconds, with its cable; an assumption

// How the ports of a node's NICs are spread: over leaves, one each, or all on one.
enum class Ports : std::uint8_t { by_rail, together };

// A switch and the nodes on it, or one rail of them: a zone called `name` that is entered at the
// router switch_of(leaf).
struct Leaf {
  std::string name;
  const NodeKind* kind = nullptr;
  std::uint32_t first_node = 0;
  std::uint32_t nodes = 0;
  std::uint32_t first_port = 0;  // through the whole cluster, of those of all its nodes
  Ports ports = Ports::together;
  std::uint32_t rail = 0;  // by_rail: the NIC of each node that it has
  std::string link_class;  // of its nodes' links between GPUs
};

// Nodes that stand together: one leaf, or one for each NIC of a node.
struct Unit {
  std::vector<Leaf> leaves;
};

std::string switch_of(const Leaf& leaf);
// What all its nodes can send at once, bytes/s.
double bandwidth_down(const Leaf& leaf);

// The class of a kind's links between GPUs: "nvlink", or "nvlink3" in a cluster that has another
// generation too, so that each keeps what it alone can do.
std::string link_class(const NodeKind& kind, const std::vector<NodeGroup>& groups);

// Cuts the nodes into units of at most `leaf_nodes` of one kind.
std::vector<Unit> cut_into_units(const std::vector<NodeGroup>& groups, std::uint32_t leaf_nodes,
                                 Ports ports);

// "node-3-nic-[0-7]" by rail, "port-[24-31]" together.
std::string ports_of(const Leaf& leaf, std::uint32_t node);

// A node's GPUs "NAME-gpu-0" and on, and its links between them, as a zone of its name. Those of a
// switch or of PCIe are around the router "NAME-switch". `nics` names the ports that they share.
void write_node(XmlText& xml, const NodeKind& kind, std::string_view name, std::string_view nics,
                std::string_view link_class);

// The zone of all nodes that reach the fabric through the ports of NICs; those that reach it over
// the host's PCIe are written with their leaf.
void write_nodes(XmlText& xml, const std::vector<Unit>& units);
void write_leaf(XmlText& xml, const Leaf& leaf);

// A zone of one router, which joins the zones around it.
void write_switch(XmlText& xml, const std::string& name);
// A duplex link between two zones and the route over it, up from `below`.
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

// How leaves are joined. Each writes the zone "fabric".

// All leaves under their spines, or one that stands for as many switches as the leaves have cables
// to. What goes up from a leaf is what its nodes can send, over the oversubscription.
void write_leaf_spine(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// The leaves alone: a rail reaches no other but over NVLink.
void write_rails_alone(XmlText& xml, const std::vector<Unit>& units,
                       const PlatformRequest& request);

// Pods, each of so many units under a spine, under one core.
void write_fat_tree(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Groups of leaves, a link between any two leaves of a group and any two groups: shortest paths
// through a balanced dragonfly (Kim et al. 2008, ISCA, section 3: a = 2p = 2h, where a leaf has p
// nodes' links, a group a leaves, and a leaf h links to other groups).
void write_dragonfly(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

// Groups of leaves under spines, and from each spine a link to one of every other group, so that as
// many gateways lead from group to group as a group has spines (Dragonfly+, Shpiner et al. 2017,
// HiPINEB): as many as leaves, or as the request says.
void write_dragonfly_plus(XmlText& xml, const std::vector<Unit>& units,
                          const PlatformRequest& request);

// Every node, a leaf of its own, is a corner; the bandwidth of its NICs is spread over its cables,
// two in each dimension, or one where a side has but two corners. Paths go through one dimension
// after the other.
void write_torus(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request);

}  // namespace pipewright::cluster
