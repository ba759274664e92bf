#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/make/leaves.hpp"
#include "sim/cluster/platform/error.hpp"

namespace pipewright::cluster {
namespace {

// Names of switches: "spine" if there is one for all, otherwise "spine-0", "spine-1", ..
std::vector<std::string> numbered_names(const std::string& name, std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(fmt::format("{}-{}", name, i));
  return count == 0 ? std::vector{name} : names;
}

// Adds a link from a zone to each zone above it. The links share the bandwidth of `uplink` evenly.
void add_uplinks(const std::string& name, const Uplink& uplink,
                 const std::vector<std::string>& above, std::vector<Uplink>& uplinks) {
  for (const std::string& zone : above) {
    Uplink& link = uplinks.emplace_back(uplink);
    link.name = above.size() == 1 ? name : fmt::format("{}-{}", name, &zone - above.data());
    link.bandwidth /= static_cast<double>(above.size());
    link.above = zone;
    link.above_switch = zone + "-switch";
  }
}

// Writes a zone of leaves and their spines. Returns the bandwidth that the leaves can send up
// together, in bytes/s.
double write_pod(XmlText& xml, const std::string& name, const std::vector<std::string>& spines,
                 std::span<const Unit> units, const PlatformRequest& request, std::uint32_t plane) {
  xml.open("<zone id=\"{}\" routing=\"Floyd\">", name);
  std::vector<Uplink> uplinks;
  double up = 0;
  for (const Unit& unit : units)
    for (const Leaf& leaf : unit.leaves) {
      if (leaf.rail % request.planes != plane) continue;
      write_leaf(xml, leaf);
      const double bandwidth = bandwidth_down(leaf) / request.oversubscription;
      add_uplinks(leaf.name + "-up",
                  {.link_class = "leaf-spine",
                   .bandwidth = bandwidth,
                   .below = leaf.name,
                   .below_switch = switch_of(leaf)},
                  spines, uplinks);
      up += bandwidth;
    }
  for (const std::string& spine : spines) write_switch(xml, spine);
  write_uplinks(xml, uplinks);
  xml.close("zone");
  return up;
}

// Writes every plane as a separate network. Calls write(zone, name prefix, plane) for each.
template <class Write>
void write_planes(XmlText& xml, const PlatformRequest& request, const Write& write) {
  if (request.planes == 1) return write("fabric", "", 0);
  xml.open("<zone id=\"fabric\" routing=\"None\">");
  for (std::uint32_t plane = 0; plane < request.planes; ++plane)
    write(fmt::format("plane-{}", plane), fmt::format("plane-{}-", plane), plane);
  xml.close("zone");
}

// Adds a link with a route between every pair of zones. `gateway` names the router of one zone
// toward another.
void connect_all(const std::vector<std::string>& zones, const std::string& prefix,
                 std::string_view link_class, double bandwidth,
                 const std::function<std::string(std::size_t, std::size_t)>& gateway,
                 std::vector<Uplink>& links) {
  for (std::size_t a = 0; a < zones.size(); ++a)
    for (std::size_t b = a + 1; b < zones.size(); ++b)
      links.push_back({.name = fmt::format("{}-{}-{}", prefix, a, b),
                       .link_class = std::string(link_class),
                       .bandwidth = bandwidth,
                       .below = zones[a],
                       .below_switch = gateway(a, b),
                       .above = zones[b],
                       .above_switch = gateway(b, a)});
}

std::vector<Leaf> all_leaves(const std::vector<Unit>& units) {
  std::vector<Leaf> leaves;
  for (const Unit& unit : units)
    leaves.insert(leaves.end(), unit.leaves.begin(), unit.leaves.end());
  return leaves;
}

// Factors a number into three factors that are as close to each other as possible, largest first.
std::vector<std::uint32_t> near_cube(std::uint32_t nodes) {
  std::vector<std::uint32_t> best{nodes, 1, 1};
  for (std::uint32_t a = 1; a * a * a <= nodes; ++a) {
    if (nodes % a != 0) continue;
    for (std::uint32_t b = a; b * b <= nodes / a; ++b)
      if (nodes / a % b == 0) best = {nodes / a / b, b, a};
  }
  return best;
}

// Removes sides of length 1, because SimGrid gives the links of two such sides the same name, and
// because their links are on no route.
std::vector<std::uint32_t> sides_above_1(const std::vector<std::uint32_t>& dimensions) {
  std::vector<std::uint32_t> sides;
  std::copy_if(dimensions.begin(), dimensions.end(), std::back_inserter(sides),
               [](std::uint32_t side) { return side > 1; });
  if (sides.empty()) sides.push_back(1);
  return sides;
}

}  // namespace

void write_leaf_spine(XmlText& xml, const std::vector<Unit>& units,
                      const PlatformRequest& request) {
  write_planes(xml, request,
               [&](const std::string& zone, const std::string& prefix, std::uint32_t plane) {
                 write_pod(xml, zone, numbered_names(prefix + "spine", request.spines), units,
                           request, plane);
               });
}

void write_rails_alone(XmlText& xml, const std::vector<Unit>& units,
                       const PlatformRequest& /*request*/) {
  xml.open("<zone id=\"fabric\" routing=\"None\">");
  for (const Unit& unit : units)
    for (const Leaf& leaf : unit.leaves) write_leaf(xml, leaf);
  xml.close("zone");
}

void write_fat_tree(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request) {
  write_planes(
      xml, request, [&](const std::string& zone, const std::string& prefix, std::uint32_t plane) {
        xml.open("<zone id=\"{}\" routing=\"Floyd\">", zone);
        const std::vector<std::string> cores = numbered_names(prefix + "core", request.spines);
        std::vector<Uplink> uplinks;
        for (std::size_t first = 0; first < units.size(); first += request.pod_leaves) {
          const std::size_t count = std::min<std::size_t>(request.pod_leaves, units.size() - first);
          const std::string pod = fmt::format("{}pod-{}", prefix, first / request.pod_leaves);
          const std::vector<std::string> spines = numbered_names(pod + "-spine", request.spines);
          const double up =
              write_pod(xml, pod, spines, std::span(units).subspan(first, count), request, plane);
          const std::size_t first_uplink = uplinks.size();
          add_uplinks(pod + "-up",
                      {.link_class = "spine-core",
                       .bandwidth = up / request.core_oversubscription,
                       .below = pod},
                      cores, uplinks);
          for (std::size_t i = 0; i < spines.size(); ++i)  // one core per spine
            uplinks[first_uplink + i].below_switch = spines[i] + "-switch";
        }
        for (const std::string& core : cores) write_switch(xml, core);
        write_uplinks(xml, uplinks);
        xml.close("zone");
      });
}

void write_dragonfly(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request) {
  const std::vector<Leaf> leaves = all_leaves(units);
  const std::size_t size = request.group_leaves;
  double down = 0;  // largest bandwidth of a leaf
  for (const Leaf& leaf : leaves) down = std::max(down, bandwidth_down(leaf));
  xml.open("<zone id=\"fabric\" routing=\"Full\">");
  std::vector<std::string> groups;
  std::vector<std::vector<std::string>> switches;
  for (std::size_t first = 0; first < leaves.size(); first += size) {
    const std::string group = fmt::format("group-{}", groups.size());
    std::vector<std::string> names;
    switches.emplace_back();
    xml.open("<zone id=\"{}\" routing=\"Full\">", group);
    for (std::size_t i = first; i < std::min(first + size, leaves.size()); ++i) {
      write_leaf(xml, leaves[i]);
      names.push_back(leaves[i].name);
      switches.back().push_back(switch_of(leaves[i]));
    }
    std::vector<Uplink> local;
    connect_all(
        names, group + "-local", "local", 2 * down / static_cast<double>(size),
        [&](std::size_t from, std::size_t) { return switches.back()[from]; }, local);
    write_uplinks(xml, local);
    xml.close("zone");
    groups.push_back(group);
  }
  const double out = static_cast<double>(size) * down / request.oversubscription;
  const double other_groups = static_cast<double>(std::max<std::size_t>(groups.size(), 2) - 1);
  // The links of a group to other groups are distributed over its leaves.
  std::vector<Uplink> global;
  connect_all(
      groups, "global", "global", out / other_groups,
      [&](std::size_t from, std::size_t to) {
        const std::size_t offset = (to + groups.size() - from - 1) % groups.size();
        return switches[from][offset % switches[from].size()];
      },
      global);
  write_uplinks(xml, global);
  xml.close("zone");
}

void write_dragonfly_plus(XmlText& xml, const std::vector<Unit>& units,
                          const PlatformRequest& request) {
  const std::vector<Leaf> leaves = all_leaves(units);
  const std::size_t size = request.group_leaves;
  const std::size_t groups = (leaves.size() + size - 1) / size;
  const std::uint32_t spines = request.spines != 0 ? request.spines : request.group_leaves;
  double down = 0;  // largest bandwidth of a leaf
  for (const Leaf& leaf : leaves) down = std::max(down, bandwidth_down(leaf));
  xml.open("<zone id=\"fabric\" routing=\"Floyd\">");
  // names of spines: one list for each index of a spine in its group, over all groups
  std::vector<std::vector<std::string>> spines_by_index(spines);
  std::vector<Uplink> uplinks;
  for (std::size_t group = 0; group < groups; ++group) {
    const std::vector<std::string> above =
        numbered_names(fmt::format("group-{}-spine", group), spines);
    for (std::size_t i = 0; i < spines; ++i) spines_by_index[i].push_back(above[i]);
    for (std::size_t i = group * size; i < std::min((group + 1) * size, leaves.size()); ++i) {
      write_leaf(xml, leaves[i]);
      add_uplinks(leaves[i].name + "-up",
                  {.link_class = "leaf-spine",
                   .bandwidth = bandwidth_down(leaves[i]),
                   .below = leaves[i].name,
                   .below_switch = switch_of(leaves[i])},
                  above, uplinks);
    }
    for (const std::string& spine : above) write_switch(xml, spine);
  }
  const double out = static_cast<double>(size) * down / request.oversubscription;
  const double other_groups = static_cast<double>(std::max<std::size_t>(groups, 2) - 1);
  for (std::size_t i = 0; i < spines; ++i)
    connect_all(
        spines_by_index[i], fmt::format("global-{}", i), "global", out / other_groups / spines,
        [&](std::size_t from, std::size_t) { return spines_by_index[i][from] + "-switch"; },
        uplinks);
  write_uplinks(xml, uplinks);
  xml.close("zone");
}

void write_torus(XmlText& xml, const std::vector<Unit>& units, const PlatformRequest& request) {
  const std::vector<Leaf> leaves = all_leaves(units);
  for (const Leaf& leaf : leaves) {
    if (leaf.kind->wiring == NodeKind::Wiring::pcie)
      throw Error(
          fmt::format("a torus needs a NIC per GPU, which {} does not have", leaf.kind->name))
          .suggest("use leaf-spine");
    if (leaf.kind != leaves.front().kind)
      throw Error("a torus needs nodes of one kind").suggest("use leaf-spine for several kinds");
  }
  const auto nodes = static_cast<std::uint32_t>(leaves.size());
  const std::vector<std::uint32_t> sides =
      sides_above_1(request.dimensions.empty() ? near_cube(nodes) : request.dimensions);
  const std::uint64_t corners =
      std::accumulate(sides.begin(), sides.end(), std::uint64_t{1}, std::multiplies<>());
  if (corners != nodes)
    throw Error(fmt::format("a torus of {} has {} corners, but there are {} nodes",
                            fmt::join(request.dimensions, " x "), corners, nodes))
        .suggest(fmt::format("use {}", fmt::join(sides_above_1(near_cube(nodes)), " x ")));
  // SimGrid creates two cables between the corners of a side of length 2, but uses only one.
  double cables = 0;
  for (const std::uint32_t side : sides) cables += side > 2 ? 2 : 1;
  xml.open("<zone id=\"fabric\" routing=\"Floyd\">");
  for (const Leaf& leaf : leaves) write_leaf(xml, leaf);
  xml.open(
      "<cluster id=\"torus\" topology=\"TORUS\" topo_parameters=\"{}\" prefix=\"corner-\" "
      "radical=\"0-{}\" suffix=\"\" speed=\"1f\" bw=\"{}\" lat=\"{}\" "
      "sharing_policy=\"SPLITDUPLEX\">",
      fmt::join(sides, ","), nodes - 1, bandwidth_text(bandwidth_down(leaves.front()) / cables),
      latency_text(switch_latency));
  xml.line("<prop id=\"class\" value=\"torus\"/>");
  xml.close("cluster");
  std::vector<Uplink> uplinks;  // not a bottleneck; SimGrid requires a link on every route
  for (const Leaf& leaf : leaves)
    uplinks.push_back({.name = leaf.name + "-up",
                       .link_class = "corner",
                       .bandwidth = bandwidth_down(leaf),
                       .latency = 0,
                       .below = leaf.name,
                       .below_switch = switch_of(leaf),
                       .above = "torus",
                       .above_switch = fmt::format("corner-{}", uplinks.size())});
  write_uplinks(xml, uplinks);
  xml.close("zone");
}

}  // namespace pipewright::cluster
