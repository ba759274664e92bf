#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/import/fabric_parts.hpp"
#include "sim/cluster/import/hostlist.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/yaml.hpp"

// Slurm's topology.conf (topology/tree and topology/block) and topology.yaml, which has several
// such topologies by name.
namespace pipewright::cluster {
namespace {

// Puts a fabric together from a switch or a block after the other.
class Builder {
 public:
  explicit Builder(SourceText source) { parts_.source = std::move(source); }

  const SourceText& source() const { return parts_.source; }
  [[noreturn]] void fail(int line, const std::string& what) const {
    parts_.source.fail(line, what);
  }

  void add_switch(int line, const std::string& name, std::string_view children,
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

  void add_block(int line, const std::string& name, std::string_view nodes) {
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

  FabricParts finish() {
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

 private:
  struct Below {
    std::uint32_t above;
    std::string name;
    int line;
  };

  std::vector<std::string> expanded(int line, std::string_view text) const {
    try {
      return expand_hostlist(text);
    } catch (const Error& error) {
      fail(line, error.what());
    }
  }
  std::vector<std::string> expanded_or_none(int line, std::string_view text) const {
    return text.empty() ? std::vector<std::string>{} : expanded(line, text);
  }

  std::size_t host_at(int line, const std::string& name) {
    const auto [place, is_new] = host_of_.try_emplace(name, parts_.hosts.size());
    if (is_new) parts_.hosts.push_back({.name = name, .ports = {}, .line = line});
    return place->second;
  }

  void join_switches() {
    std::vector<int> parent(parts_.switches.size(), 0);  // line that told of it
    std::vector<std::uint32_t> above(parts_.switches.size(), none);
    for (const Below& below : below_) {
      const auto child = switch_of_.find(below.name);
      if (child == switch_of_.end())
        fail(below.line, fmt::format("switch '{}' is below '{}', but no line tells of it",
                                     below.name, parts_.switches[below.above].name));
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

  // Slurm runs no job across switches without one above; here they are joined, as blocks are.
  void join_tops() {
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

  // A leaf for each block.
  void add_leaves() {
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

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  FabricParts parts_;
  std::unordered_map<std::string, std::uint32_t> switch_of_;
  std::unordered_map<std::string, std::size_t> host_of_;
  std::unordered_map<std::string, std::uint32_t> domain_of_;
  std::vector<Below> below_;
  std::vector<std::uint32_t> tops_;
};

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

// "Key=Value Key=Value"; keys in small letters, as Slurm does not tell them apart.
std::map<std::string, std::string> pairs_of(const Builder& builder, std::string_view line,
                                            int number) {
  std::map<std::string, std::string> pairs;
  for (const std::string_view word : words_of(line)) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      builder.fail(number, fmt::format("{} is no KEY=VALUE; as in SwitchName=leaf-1 "
                                       "Nodes=node[001-032]",
                                       config::in_quotes(word)));
    if (!pairs.emplace(lower(word.substr(0, equals)), word.substr(equals + 1)).second)
      builder.fail(number, fmt::format("{} stands twice in the line", word.substr(0, equals)));
  }
  return pairs;
}

void take_line(Builder& builder, std::string_view line, int number) {
  const auto pairs = pairs_of(builder, line, number);
  const auto text = [&](const char* key) {
    const auto found = pairs.find(key);
    return found == pairs.end() ? std::string() : found->second;
  };
  for (const auto& [key, value] : pairs) {
    constexpr std::array<std::string_view, 6> known{"switchname", "switches",  "nodes",
                                                    "linkspeed",  "blockname", "blocksizes"};
    if (std::ranges::find(known, key) == known.end())
      builder.fail(number, fmt::format("key {} is unknown; allowed: SwitchName, Switches, Nodes, "
                                       "LinkSpeed, BlockName, BlockSizes",
                                       config::in_quotes(key)));
  }
  if (pairs.contains("switchname"))
    builder.add_switch(number, text("switchname"), text("switches"), text("nodes"));
  else if (pairs.contains("blockname"))
    builder.add_block(number, text("blockname"), text("nodes"));
  else if (!pairs.contains("blocksizes"))
    builder.fail(number, "begins neither with SwitchName= nor with BlockName=");
}

// Slurm takes a list of hosts as one text; a YAML list of such texts is as good.
std::string hosts_text(const config::Value* value) {
  if (value == nullptr) return "";
  if (value->kind == config::Value::Kind::text) return value->text;
  std::vector<std::string> texts;
  for (const config::Value& item : value->items) texts.push_back(hosts_text(&item));
  return fmt::format("{}", fmt::join(texts, ","));
}

const config::Value& needed(const Builder& builder, const config::Value& map, const char* key,
                            config::Value::Kind kind) {
  const config::Value* const found = find(map, key);
  if (found == nullptr || found->kind != kind)
    builder.fail(
        map.origin.line,
        fmt::format("{} {}", key,
                    found == nullptr ? "is missing"
                    : kind == config::Value::Kind::text
                        ? "is no text; allowed: a name"
                        : "is no list; allowed: a list of maps, as Slurm's manual has it"));
  return *found;
}

using Kind = config::Value::Kind;

constexpr config::Document topology_document{"Slurm's topology.yaml", "a topology",
                                             "- topology: main"};

// The named one, else the cluster's default, else the only one that is a tree or has blocks.
const config::Value& choose(const Builder& builder, const config::Value& root,
                            const std::string& name) {
  const config::Value* chosen = nullptr;
  std::vector<std::string> names;
  for (const config::Value& one : root.items) {
    if (one.kind != Kind::map) builder.fail(one.origin.line, "a topology is a map");
    names.push_back(needed(builder, one, "topology", Kind::text).text);
    const bool has_hosts = find(one, "tree") != nullptr || find(one, "block") != nullptr;
    const config::Value* const is_default = find(one, "cluster_default");
    const bool better =
        name.empty() ? has_hosts && (chosen == nullptr ||
                                     (is_default != nullptr && lower(is_default->text) == "true"))
                     : names.back() == name;
    if (better) chosen = &one;
  }
  if (chosen == nullptr)
    builder.fail(root.origin.line, name.empty()
                                       ? std::string("has no topology with a tree or a block")
                                       : fmt::format("has no topology '{}'; there are {}", name,
                                                     fmt::join(names, ", ")));
  return *chosen;
}

}  // namespace

FabricParts read_slurm_conf(SourceText source) {
  Builder builder(std::move(source));
  std::string whole;
  int begin = 0;
  const std::vector<std::string> lines = lines_of(builder.source());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(std::string_view(lines[i]).substr(0, lines[i].find('#')));
    if (whole.empty()) begin = static_cast<int>(i) + 1;
    const bool continues = line.ends_with('\\');
    whole += continues ? line.substr(0, line.size() - 1) : line;
    if (continues && i + 1 < lines.size()) {
      whole += ' ';
      continue;
    }
    if (!trimmed(whole).empty()) take_line(builder, whole, begin);
    whole.clear();
  }
  return builder.finish();
}

FabricParts read_slurm_yaml(SourceText source, const std::string& topology) {
  Builder builder(std::move(source));
  const config::Value root =
      config::read_yaml_text(builder.source().text, builder.source().name, topology_document);
  if (root.kind != Kind::list)
    builder.fail(1, "is no list of topologies; as in '- topology: main'");
  const config::Value& chosen = choose(builder, root, topology);
  const config::Value* const tree = find(chosen, "tree");
  const config::Value* const block = find(chosen, "block");
  if (tree == nullptr && block == nullptr)
    builder.fail(chosen.origin.line, "is flat: it names no switches and no nodes");
  const auto each = [&](const config::Value& map, const char* list, const char* name, auto&& add) {
    if (map.kind != Kind::map)
      builder.fail(map.origin.line, fmt::format("is no map; allowed: {}: and a list", list));
    for (const config::Value& item : needed(builder, map, list, Kind::list).items) {
      if (item.kind != Kind::map)
        builder.fail(item.origin.line,
                     fmt::format("is no map; allowed: {}: and what it has", name));
      add(item, needed(builder, item, name, Kind::text).text);
    }
  };
  if (tree != nullptr)
    each(*tree, "switches", "switch", [&](const config::Value& item, const std::string& name) {
      builder.add_switch(item.origin.line, name, hosts_text(find(item, "children")),
                         hosts_text(find(item, "nodes")));
    });
  if (block != nullptr)
    each(*block, "blocks", "block", [&](const config::Value& item, const std::string& name) {
      builder.add_block(item.origin.line, name, hosts_text(find(item, "nodes")));
    });
  FabricParts parts = builder.finish();
  if (root.items.size() > 1)
    parts.findings.push_back(
        {"topology", find(chosen, "topology")->text, parts.source.place(chosen.origin.line)});
  return parts;
}

}  // namespace pipewright::cluster
