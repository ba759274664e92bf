#include "sim/cluster/import/slurm_builder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cluster/import/hostlist.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"

namespace pipewright::cluster {

void SlurmBuilder::add_switch(int line, const std::string& name, std::string_view children,
                              std::string_view nodes) {
  if (name.empty()) fail(line, "a switch has no name");
  if (children.empty() == nodes.empty())
    fail(line, fmt::format("switch '{}' {}; allowed: either switches or nodes below it", name,
                           nodes.empty() ? "has neither switches nor nodes"
                                         : "has both switches and nodes"));
  const auto index = static_cast<std::uint32_t>(parts_.switches.size());
  const auto [place, is_new] = switch_of_.try_emplace(name, index);
  if (!is_new)
    fail(line, fmt::format("switch '{}' stands twice, first at line {}", name,
                           parts_.switches[place->second].line));
  parts_.switches.push_back({name, line});
  if (!children.empty())
    for (std::string& child : expanded(line, children)) below_.push_back({index, child, line});
  for (std::string& host : expanded_or_none(line, nodes)) {
    const std::size_t at = host_at(line, host);
    FabricParts::Host& known = parts_.hosts[at];
    if (!known.ports.empty())
      fail(line, fmt::format("node '{}' is on switch '{}' too, by line {}; allowed: one of them, "
                             "as all NICs of a node are on its leaf here",
                             host, parts_.switches[known.ports.front().on].name,
                             known.ports.front().line));
    known.ports.push_back({.device = {}, .on = index, .rate = 0, .line = line});
    parts_.switches.back().is_leaf = true;
  }
}

void SlurmBuilder::add_block(int line, const std::string& name, std::string_view nodes) {
  if (name.empty()) fail(line, "a block has no name");
  for (const FabricParts::Domain& domain : parts_.domains)
    if (domain.name == name)
      fail(line, fmt::format("block '{}' stands twice, first at line {}", name, domain.line));
  const auto index = static_cast<std::uint32_t>(parts_.domains.size());
  if (nodes.empty()) return;  // a block to come, which Slurm allows
  parts_.domains.push_back({name, line});
  for (const std::string& host : expanded(line, nodes)) {
    const std::size_t at = host_at(line, host);
    const auto [place, is_new] = domain_of_.try_emplace(host, index);
    if (!is_new)
      fail(line,
           fmt::format("node '{}' is in block '{}' too, by line {}", host,
                       parts_.domains[place->second].name, parts_.domains[place->second].line));
    parts_.hosts[at].domain = index;
  }
}

FabricParts SlurmBuilder::finish() {
  if (parts_.hosts.empty())
    fail(1, "names no nodes; a leaf has them, as in SwitchName=leaf-1 Nodes=node[001-032]");
  join_switches();
  join_tops();
  for (const FabricParts::Host& host : parts_.hosts)
    if (!parts_.domains.empty() && !domain_of_.contains(host.name))
      fail(host.line, fmt::format("node '{}' is in no block; those of the others are their "
                                  "NVLink domains",
                                  host.name));
  std::stable_sort(parts_.hosts.begin(), parts_.hosts.end(),
                   [](const auto& a, const auto& b) { return natural_less(a.name, b.name); });
  return std::move(parts_);
}

std::vector<std::string> SlurmBuilder::expanded(int line, std::string_view text) const {
  try {
    return expand_hostlist(text);
  } catch (const Error& error) {
    fail(line, error.what());
  }
}

std::vector<std::string> SlurmBuilder::expanded_or_none(int line, std::string_view text) const {
  return text.empty() ? std::vector<std::string>{} : expanded(line, text);
}

std::size_t SlurmBuilder::host_at(int line, const std::string& name) {
  const auto [place, is_new] = host_of_.try_emplace(name, parts_.hosts.size());
  if (is_new) parts_.hosts.push_back({.name = name, .ports = {}, .line = line});
  return place->second;
}

void SlurmBuilder::join_switches() {
  std::vector<int> parent(parts_.switches.size(), 0);  // line that told of it
  std::vector<std::uint32_t> above(parts_.switches.size(), none);
  for (const Below& below : below_) {
    const auto child = switch_of_.find(below.name);
    if (child == switch_of_.end())
      fail(below.line, fmt::format("switch '{}' is below '{}', but no line tells of it", below.name,
                                   parts_.switches[below.above].name));
    if (parent[child->second] != 0)
      fail(below.line, fmt::format("switch '{}' is below '{}' too, by line {}; a tree has one "
                                   "switch above each",
                                   below.name, parts_.switches[above[child->second]].name,
                                   parent[child->second]));
    parent[child->second] = below.line;
    above[child->second] = below.above;
    parts_.cables.push_back({child->second, below.above, 0, below.line});
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

void SlurmBuilder::join_tops() {
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
      {"switch above all", name, fmt::format("default: {} switches have none", tops_.size())});
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
    host.ports.push_back({.device = {}, .on = leaf, .rate = 0, .line = host.line});
  }
  parts_.findings.push_back({"leaves", "one for each block", "default: blocks name no switches"});
}

}  // namespace pipewright::cluster
