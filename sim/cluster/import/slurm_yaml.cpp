#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/import/slurm_builder.hpp"
#include "sim/config/text/yaml.hpp"

// Slurm's topology.yaml: several topologies by name, each a tree or blocks, or flat.
namespace pipewright::cluster {
namespace {

bool is_true(const config::Value& value) { return value.text == "true" || value.text == "True"; }

// Slurm takes a list of hosts as one text; a YAML list of such texts is as good.
std::string hosts_text(const config::Value* value) {
  if (value == nullptr) return "";
  if (value->kind == config::Value::Kind::text) return value->text;
  std::vector<std::string> texts;
  for (const config::Value& item : value->items) texts.push_back(hosts_text(&item));
  return fmt::format("{}", fmt::join(texts, ","));
}

const config::Value& needed(const SlurmBuilder& builder, const config::Value& map, const char* key,
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
const config::Value& choose(const SlurmBuilder& builder, const config::Value& root,
                            const std::string& name) {
  const config::Value* chosen = nullptr;
  std::vector<std::string> names;
  for (const config::Value& one : root.items) {
    if (one.kind != Kind::map) builder.fail(one.origin.line, "a topology is a map");
    names.push_back(needed(builder, one, "topology", Kind::text).text);
    const bool has_hosts = find(one, "tree") != nullptr || find(one, "block") != nullptr;
    const config::Value* const is_default = find(one, "cluster_default");
    const bool better =
        name.empty()
            ? has_hosts && (chosen == nullptr || (is_default != nullptr && is_true(*is_default)))
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

FabricParts read_slurm_yaml(SourceText source, const std::string& topology) {
  SlurmBuilder builder(std::move(source));
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
