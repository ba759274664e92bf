#include "sim/cluster/make/leaves.hpp"

#include <algorithm>

#include "sim/cluster/make/pair_links.hpp"

namespace pipewright::cluster {
namespace {

using Wiring = NodeKind::Wiring;

bool has_ports(const NodeKind& kind) { return kind.wiring != Wiring::pcie; }

void write_properties(XmlText& xml, const NodeKind& kind, std::string_view nics) {
  xml.line("<prop id=\"gpu\" value=\"{}\"/>", escaped(kind.gpu));
  xml.line("<prop id=\"memory\" value=\"{}\"/>", kind.memory);
  if (kind.host.launch_factor != 1)
    xml.line("<prop id=\"launch_factor\" value=\"{}\"/>", kind.host.launch_factor);
  const auto write_bandwidth = [&xml](std::string_view name, double bytes_per_second) {
    if (bytes_per_second > 0)
      xml.line("<prop id=\"{}\" value=\"{:.4g} GB/s\"/>", name, bytes_per_second / 1e9);
  };
  write_bandwidth("host_memory_bandwidth", kind.host.memory_bandwidth / kind.gpus);
  write_bandwidth("host_core_bandwidth", kind.host.core_bandwidth);
  if (kind.host.gpus > 0) xml.line("<prop id=\"host_gpus\" value=\"{}\"/>", kind.host.gpus);
  if (!nics.empty()) xml.line("<prop id=\"nic\" value=\"{}\"/>", nics);
}

// Writes the GPUs of a node as a <cluster>: each GPU has a link to one switch.
void write_star(XmlText& xml, const NodeKind& kind, std::string_view node, std::string_view nics,
                std::string_view link_class) {
  xml.open(
      "<cluster id=\"{0}\" prefix=\"{0}-gpu-\" radical=\"0-{1}\" suffix=\"\" "
      "speed=\"{2}\" bw=\"{3}\" lat=\"{4}\" sharing_policy=\"SPLITDUPLEX\" "
      "router_id=\"{0}-switch\">",
      node, kind.gpus - 1, speed_text(kind.speed), bandwidth_text(kind.link_bandwidth),
      latency_text(kind.link_latency));
  write_properties(xml, kind, nics);
  xml.line("<prop id=\"class\" value=\"{}\"/>", link_class);
  xml.close("cluster");
}

constexpr double pcie_pair_latency = 2.85e-6;  // see the sources of DGX-1 nodes

// Writes the GPUs of a node that are linked in pairs, with the links and the routes over them.
void write_mesh(XmlText& xml, const NodeKind& kind, std::string_view node, std::string_view nics,
                std::string_view link_class) {
  xml.open("<zone id=\"{}\" routing=\"Full\">", node);
  for (std::uint32_t gpu = 0; gpu < kind.gpus; ++gpu) {
    xml.open("<host id=\"{}-gpu-{}\" speed=\"{}\">", node, gpu, speed_text(kind.speed));
    write_properties(xml, kind, nics);
    xml.close("host");
  }
  const auto link = [&](const std::string& name, std::string_view class_name, double bandwidth,
                        double latency) {
    xml.open("<link id=\"{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"SPLITDUPLEX\">",
             name, bandwidth_text(bandwidth), latency_text(latency));
    xml.line("<prop id=\"class\" value=\"{}\"/>", class_name);
    xml.close("link");
  };
  const LinkCounts links = link_counts(kind);
  const auto for_each_pair = [&](auto&& visit) {
    for (std::uint32_t a = 0; a < kind.gpus; ++a)
      for (std::uint32_t b = a + 1; b < kind.gpus; ++b) visit(a, b);
  };
  const bool has_pcie = has_pcie_pairs(kind);
  for (std::uint32_t gpu = 0; gpu < kind.gpus && has_pcie; ++gpu)
    link(fmt::format("{}-pcie-{}", node, gpu), "pcie", kind.pcie_bandwidth, pcie_pair_latency);
  for_each_pair([&](std::uint32_t a, std::uint32_t b) {
    if (links[a][b] > 0)
      link(fmt::format("{}-{}-{}-{}", node, kind.link_class, a, b), link_class,
           links[a][b] * kind.link_bandwidth, kind.link_latency);
  });
  for_each_pair([&](std::uint32_t a, std::uint32_t b) {
    xml.open("<route src=\"{0}-gpu-{1}\" dst=\"{0}-gpu-{2}\">", node, a, b);
    std::uint32_t from = a;
    const auto cross = [&](std::uint32_t to) {
      xml.line("<link_ctn id=\"{}-{}-{}-{}\" direction=\"{}\"/>", node, kind.link_class,
               std::min(from, to), std::max(from, to), from < to ? "UP" : "DOWN");
      from = to;
    };
    const auto relays =
        is_relaying(kind) ? relays_between(links, a, b) : std::vector<std::uint32_t>();
    if (links[a][b] > 0 || !relays.empty()) {
      for (const std::uint32_t relay : relays) cross(relay);
      cross(b);
    } else {
      xml.line("<link_ctn id=\"{}-pcie-{}\" direction=\"UP\"/>", node, a);
      xml.line("<link_ctn id=\"{}-pcie-{}\" direction=\"DOWN\"/>", node, b);
    }
    xml.close("route");
  });
  xml.close("zone");
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string attribute;
  for (const char c : text)
    if (c == '&')
      attribute += "&amp;";
    else if (c == '<')
      attribute += "&lt;";
    else if (c == '"')
      attribute += "&quot;";
    else
      attribute += c;
  return attribute;
}

std::string switch_of(const Leaf& leaf) { return leaf.name + "-switch"; }

// SimGrid's <cluster> numbers hosts with a single counter, so the ports of a leaf with all rails
// are numbered through the whole cluster.
std::string ports_of(const Leaf& leaf, std::uint32_t node) {
  const std::uint32_t nics = leaf.kind->nics;
  const bool is_by_rail = leaf.ports == Ports::by_rail;
  const std::string prefix = is_by_rail ? fmt::format("node-{}-nic-", node) : "port-";
  const std::uint32_t first = is_by_rail ? 0 : leaf.first_port + (node - leaf.first_node) * nics;
  return nics == 1 ? fmt::format("{}{}", prefix, first)
                   : fmt::format("{}[{}-{}]", prefix, first, first + nics - 1);
}

double bandwidth_down(const Leaf& leaf) {
  const double nics = leaf.ports == Ports::by_rail ? 1 : leaf.kind->nics;
  return leaf.nodes * nics * leaf.kind->nic_bandwidth;
}

std::string link_class(const NodeKind& kind, const std::vector<NodeGroup>& groups) {
  const bool is_only_generation =
      std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
        return group.kind->link_class != kind.link_class || group.kind->nvlink == kind.nvlink;
      });
  return is_only_generation ? kind.link_class : fmt::format("{}{}", kind.link_class, kind.nvlink);
}

std::vector<Unit> cut_into_units(const std::vector<NodeGroup>& groups, std::uint32_t leaf_nodes,
                                 Ports ports) {
  std::vector<Unit> units;
  std::uint32_t first = 0;
  std::uint32_t port = 0;
  for (const NodeGroup& group : groups) {
    for (std::uint32_t placed = 0; placed < group.count; placed += leaf_nodes) {
      const std::uint32_t nodes = std::min(leaf_nodes, group.count - placed);
      const bool is_by_rail = ports == Ports::by_rail && has_ports(*group.kind);
      Unit unit;
      for (std::uint32_t rail = 0; rail < (is_by_rail ? group.kind->nics : 1); ++rail)
        unit.leaves.push_back(
            {.name = is_by_rail ? fmt::format("leaf-{}-{}", units.size(), rail)
                                : fmt::format("leaf-{}", units.size()),
             .kind = group.kind,
             .first_node = first,
             .nodes = nodes,
             .first_port = port,
             .ports = ports == Ports::by_rail && !is_by_rail ? Ports::together : ports,
             .rail = rail,
             .link_class = link_class(*group.kind, groups)});
      units.push_back(std::move(unit));
      first += nodes;
      port += nodes * group.kind->nics;
    }
  }
  return units;
}

void write_node(XmlText& xml, const NodeKind& kind, std::string_view name, std::string_view nics,
                std::string_view link_class) {
  const bool has_switch = kind.wiring == Wiring::nvswitch || kind.wiring == Wiring::pcie;
  (has_switch ? write_star : write_mesh)(xml, kind, name, nics, link_class);
}

void write_nodes(XmlText& xml, const std::vector<Unit>& units) {
  const bool has_ported_nodes = std::any_of(units.begin(), units.end(), [](const Unit& unit) {
    return has_ports(*unit.leaves.front().kind);
  });
  if (!has_ported_nodes) return;
  xml.open("<zone id=\"nodes\" routing=\"None\">");
  for (const Unit& unit : units) {
    const Leaf& leaf = unit.leaves.front();
    for (std::uint32_t i = 0; i < leaf.nodes && has_ports(*leaf.kind); ++i) {
      const std::uint32_t node = leaf.first_node + i;
      const std::string nics = ports_of(leaf, node);
      write_node(xml, *leaf.kind, fmt::format("node-{}", node), nics, leaf.link_class);
    }
  }
  xml.close("zone");
}

void write_leaf(XmlText& xml, const Leaf& leaf) {
  const NodeKind& kind = *leaf.kind;
  if (has_ports(kind)) {
    const bool is_by_rail = leaf.ports == Ports::by_rail;
    const std::uint32_t first = is_by_rail ? leaf.first_node : leaf.first_port;
    const std::uint32_t count = leaf.nodes * (is_by_rail ? 1 : kind.nics);
    xml.open(
        "<cluster id=\"{}\" prefix=\"{}\" radical=\"{}-{}\" suffix=\"{}\" speed=\"1f\" bw=\"{}\" "
        "lat=\"{}\" sharing_policy=\"SPLITDUPLEX\" router_id=\"{}\">",
        leaf.name, is_by_rail ? "node-" : "port-", first, first + count - 1,
        is_by_rail ? fmt::format("-nic-{}", leaf.rail) : "", bandwidth_text(kind.nic_bandwidth),
        latency_text(kind.nic_latency), switch_of(leaf));
    xml.line("<prop id=\"class\" value=\"nic\"/>");
    xml.close("cluster");
    return;
  }
  xml.open("<zone id=\"{}\" routing=\"Floyd\">", leaf.name);
  std::vector<Uplink> nics;
  for (std::uint32_t node = leaf.first_node; node < leaf.first_node + leaf.nodes; ++node) {
    write_node(xml, kind, fmt::format("node-{}", node), "", "pcie");
    nics.push_back({.name = fmt::format("node-{}-nic", node),
                    .link_class = "nic",
                    .bandwidth = kind.nics * kind.nic_bandwidth,
                    .latency = kind.nic_latency,
                    .below = fmt::format("node-{}", node),
                    .below_switch = fmt::format("node-{}-switch", node),
                    .above = leaf.name + "-top",
                    .above_switch = switch_of(leaf)});
  }
  xml.open("<zone id=\"{}-top\" routing=\"None\">", leaf.name);
  xml.line("<router id=\"{}\"/>", switch_of(leaf));
  xml.close("zone");
  write_uplinks(xml, nics);
  xml.close("zone");
}

void write_switch(XmlText& xml, const std::string& name) {
  xml.open("<zone id=\"{}\" routing=\"None\">", name);
  xml.line("<router id=\"{}-switch\"/>", name);
  xml.close("zone");
}

void write_uplinks(XmlText& xml, const std::vector<Uplink>& uplinks) {
  for (const Uplink& up : uplinks) {
    xml.open("<link id=\"{}\" bandwidth=\"{}\" latency=\"{}\" sharing_policy=\"SPLITDUPLEX\">",
             up.name, bandwidth_text(up.bandwidth), latency_text(up.latency));
    xml.line("<prop id=\"class\" value=\"{}\"/>", up.link_class);
    xml.close("link");
  }
  for (const Uplink& up : uplinks) {
    xml.open("<zoneRoute src=\"{}\" dst=\"{}\" gw_src=\"{}\" gw_dst=\"{}\">", up.below, up.above,
             up.below_switch, up.above_switch);
    xml.line("<link_ctn id=\"{}\" direction=\"UP\"/>", up.name);
    xml.close("zoneRoute");
  }
}

}  // namespace pipewright::cluster
