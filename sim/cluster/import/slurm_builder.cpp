#include "sim/cluster/import/slurm_builder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cluster/import/hostlist.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"

namespace pipewright::cluster {

void SlurmBuilder::add_switch(int line, const std::string& name, std::string_view children,
                              std::string_view nodes, bool lists_all_nodes) {
  if (name.empty()) fail(line, "a switch has no name");
  const auto index = static_cast<std::uint32_t>(parts_.switches.size());
  if (lists_all_nodes && !children.empty() && !nodes.empty()) {
    listed_nodes_.push_back({index, expand(line, nodes), line});
    nodes = {};
  }
  if (children.empty() == nodes.empty())
    fail(line, Error(fmt::format("switch '{}' {}", name,
                                 nodes.empty() ? "has neither switches nor nodes"
                                               : "has both switches and nodes"))
                   .allow("either switches or nodes below it"));
  const auto [entry, is_new] = switch_of_.try_emplace(name, index);
  if (!is_new)
    fail(line, fmt::format("switch '{}' is defined twice, first at line {}", name,
                           parts_.switches[entry->second].line));
  parts_.switches.push_back({name, line});
  if (!children.empty())
    for (std::string& child : expand(line, children))
      child_switches_.push_back({index, child, line});
  for (std::string& host : expand_or_none(line, nodes)) {
    const std::size_t at = host_at(line, host);
    FabricParts::Host& node = parts_.hosts[at];
    if (!node.ports.empty())
      fail(line, Error(fmt::format("node '{}' is also on switch '{}' (line {})", host,
                                   parts_.switches[node.ports.front().switch_index].name,
                                   node.ports.front().line))
                     .allow("one switch per node, since all NICs of a node are on its leaf"));
    node.ports.push_back({.device = {}, .switch_index = index, .rate = 0, .line = line});
    parts_.switches.back().is_leaf = true;
  }
}

void SlurmBuilder::add_block(int line, const std::string& name, std::string_view nodes) {
  if (name.empty()) fail(line, "a block has no name");
  for (const FabricParts::Domain& domain : parts_.domains)
    if (domain.name == name)
      fail(line, fmt::format("block '{}' is defined twice, first at line {}", name, domain.line));
  const auto index = static_cast<std::uint32_t>(parts_.domains.size());
  if (nodes.empty()) return;  // Slurm allows a block without nodes yet
  parts_.domains.push_back({name, line});
  for (const std::string& host : expand(line, nodes)) {
    const std::size_t at = host_at(line, host);
    const auto [entry, is_new] = domain_of_.try_emplace(host, index);
    if (!is_new)
      fail(line,
           fmt::format("node '{}' is also in block '{}' (line {})", host,
                       parts_.domains[entry->second].name, parts_.domains[entry->second].line));
    parts_.hosts[at].domain = index;
  }
}

FabricParts SlurmBuilder::finish() {
  if (parts_.hosts.empty())
    fail(1, Error("names no nodes")
                .suggest("add them to a leaf, such as SwitchName=leaf-1 Nodes=node[001-032]"));
  connect_switches();
  check_listed_nodes();
  connect_tops();
  for (const FabricParts::Host& host : parts_.hosts)
    if (!parts_.domains.empty() && !domain_of_.contains(host.name))
      fail(host.line, fmt::format("node '{}' is not in a block; either all nodes or no nodes are "
                                  "in blocks, which are NVLink domains",
                                  host.name));
  std::stable_sort(parts_.hosts.begin(), parts_.hosts.end(),
                   [](const auto& a, const auto& b) { return natural_less(a.name, b.name); });
  return std::move(parts_);
}

std::vector<std::string> SlurmBuilder::expand(int line, std::string_view text) const {
  try {
    return expand_hostlist(text);
  } catch (const Error& error) {
    fail(line, error);
  }
}

std::vector<std::string> SlurmBuilder::expand_or_none(int line, std::string_view text) const {
  return text.empty() ? std::vector<std::string>{} : expand(line, text);
}

std::size_t SlurmBuilder::host_at(int line, const std::string& name) {
  const auto [entry, is_new] = host_of_.try_emplace(name, parts_.hosts.size());
  if (is_new) parts_.hosts.push_back({.name = name, .ports = {}, .line = line});
  return entry->second;
}

void SlurmBuilder::connect_switches() {
  std::vector<int> parent(parts_.switches.size(), 0);  // line that names the switch above
  std::vector<std::uint32_t>& above = above_;
  above.assign(parts_.switches.size(), none);
  for (const ChildSwitch& child_switch : child_switches_) {
    const auto child = switch_of_.find(child_switch.name);
    if (child == switch_of_.end())
      fail(child_switch.line,
           fmt::format("switch '{}' is below '{}', but no line defines it", child_switch.name,
                       parts_.switches[child_switch.parent].name));
    if (parent[child->second] != 0)
      fail(child_switch.line,
           fmt::format("switch '{}' is also below '{}' (line {}); in a tree, every switch has at "
                       "most one switch above it",
                       child_switch.name, parts_.switches[above[child->second]].name,
                       parent[child->second]));
    parent[child->second] = child_switch.line;
    above[child->second] = child_switch.parent;
    parts_.cables.push_back({child->second, child_switch.parent, 0, child_switch.line});
  }
  for (std::uint32_t i = 0; i < above.size(); ++i) {
    std::size_t steps = 0;
    std::uint32_t at = i;
    for (; above[at] != none && steps <= above.size(); at = above[at]) ++steps;
    if (above[at] != none)
      fail(parts_.switches[i].line,
           fmt::format("switch '{}' is above itself", parts_.switches[i].name));
    if (above[i] == none) tops_.push_back(i);
  }
}

void SlurmBuilder::check_listed_nodes() const {
  const auto is_below = [&](const FabricParts::Host& host, std::uint32_t top) {
    std::uint32_t at = host.ports.empty() ? none : host.ports.front().switch_index;
    while (at != none && at != top) at = above_[at];
    return at == top;
  };
  for (const ListedNodes& list : listed_nodes_)
    for (const std::string& name : list.nodes) {
      const auto host = host_of_.find(name);
      if (host == host_of_.end() || !is_below(parts_.hosts[host->second], list.switch_index))
        fail(list.line, Error(fmt::format("node '{}' is below switch '{}', but on no leaf below it",
                                          name, parts_.switches[list.switch_index].name))
                            .suggest("use the whole output of 'scontrol show topology'"));
    }
}

void SlurmBuilder::connect_tops() {
  const bool has_leafless = std::ranges::any_of(
      parts_.hosts, [](const FabricParts::Host& host) { return host.ports.empty(); });
  if (has_leafless) add_leaves();
  if (tops_.size() < 2) return;
  std::string name = "core";
  while (switch_of_.contains(name)) name += "-switch";
  const auto core = static_cast<std::uint32_t>(parts_.switches.size());
  parts_.switches.push_back({name, 0});
  for (const std::uint32_t top : tops_)
    parts_.cables.push_back({top, core, 0, parts_.switches[top].line});
  parts_.findings.push_back(
      {"top switch", name, fmt::format("default: {} switches have no switch above", tops_.size())});
}

void SlurmBuilder::add_leaves() {
  std::vector<std::uint32_t> leaf_of(parts_.domains.size(), none);
  for (FabricParts::Host& host : parts_.hosts) {
    if (!host.ports.empty()) continue;
    std::uint32_t& leaf = leaf_of.at(host.domain);
    if (leaf == none) {
      leaf = static_cast<std::uint32_t>(parts_.switches.size());
      std::string name = parts_.domains[host.domain].name + "-leaf";
      while (!switch_of_.try_emplace(name, leaf).second) name += "-switch";
      parts_.switches.push_back({name, parts_.domains[host.domain].line, true});
      tops_.push_back(leaf);
    }
    host.ports.push_back({.device = {}, .switch_index = leaf, .rate = 0, .line = host.line});
  }
  parts_.findings.push_back(
      {"leaves", "one for each block", "default: the blocks name no switches"});
}

}  // namespace pipewright::cluster
