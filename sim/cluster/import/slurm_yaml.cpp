#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/import/slurm_builder.hpp"
#include "sim/config/text/yaml.hpp"

// Reads Slurm's topology.yaml: several named topologies, each a tree, blocks, or flat.
namespace pipewright::cluster {
namespace {

bool is_true(const config::Value& value) { return value.text == "true" || value.text == "True"; }

// Slurm writes a hostlist as one text; a YAML list of such texts is accepted as well.
std::string hosts_text(const config::Value* value) {
  if (value == nullptr) return "";
  if (value->kind == config::Value::Kind::text) return value->text;
  std::vector<std::string> texts;
  for (const config::Value& item : value->items) texts.push_back(hosts_text(&item));
  return fmt::format("{}", fmt::join(texts, ","));
}

const config::Value& require_value(const SlurmBuilder& builder, const config::Value& map,
                                   const char* key, config::Value::Kind kind) {
  const config::Value* const value = find(map, key);
  const int line = map.origin.line;
  if (value == nullptr) builder.fail(line, fmt::format("{} is missing", key));
  if (value->kind == kind) return *value;
  if (kind == config::Value::Kind::text)
    builder.fail(line, Error(fmt::format("{} is not a text", key)).allow("a name"));
  builder.fail(
      line,
      Error(fmt::format("{} is not a list", key)).allow("a list of maps, see Slurm's manual"));
}

using Kind = config::Value::Kind;

constexpr config::Document topology_document{"Slurm's topology.yaml", "a topology",
                                             "- topology: main"};

// Chooses the named topology, or else the cluster's default, or else the only one with a tree or
// blocks.
const config::Value& choose_topology(const SlurmBuilder& builder, const config::Value& root,
                                     const std::string& name) {
  const config::Value* chosen = nullptr;
  std::vector<std::string> names;
  for (const config::Value& topology : root.items) {
    if (topology.kind != Kind::map) builder.fail(topology.origin.line, "a topology is a map");
    names.push_back(require_value(builder, topology, "topology", Kind::text).text);
    const bool has_hosts = find(topology, "tree") != nullptr || find(topology, "block") != nullptr;
    const config::Value* const is_default = find(topology, "cluster_default");
    const bool is_better =
        name.empty()
            ? has_hosts && (chosen == nullptr || (is_default != nullptr && is_true(*is_default)))
            : names.back() == name;
    if (is_better) chosen = &topology;
  }
  if (chosen == nullptr)
    builder.fail(root.origin.line,
                 name.empty()
                     ? Error("has no topology with a tree or a block")
                     : Error(fmt::format("has no topology '{}'", name))
                           .suggest(fmt::format("choose from {}", fmt::join(names, ", "))));
  return *chosen;
}

}  // namespace

FabricParts read_slurm_yaml(SourceText source, const std::string& topology) {
  SlurmBuilder builder(std::move(source));
  const config::Value root =
      config::read_yaml_text(builder.source().text, builder.source().name, topology_document);
  if (root.kind != Kind::list)
    builder.fail(1, "is not a list of topologies, such as '- topology: main'");
  const config::Value& chosen = choose_topology(builder, root, topology);
  const config::Value* const tree = find(chosen, "tree");
  const config::Value* const block = find(chosen, "block");
  if (tree == nullptr && block == nullptr)
    builder.fail(chosen.origin.line, "is a flat topology, without switches and nodes");
  const auto for_each_entry = [&](const config::Value& map, const char* list, const char* name,
                                  auto&& add) {
    if (map.kind != Kind::map)
      builder.fail(map.origin.line,
                   Error("is not a map").allow(fmt::format("{}: with a list", list)));
    for (const config::Value& item : require_value(builder, map, list, Kind::list).items) {
      if (item.kind != Kind::map)
        builder.fail(item.origin.line,
                     Error("is not a map").allow(fmt::format("{}: with its properties", name)));
      add(item, require_value(builder, item, name, Kind::text).text);
    }
  };
  if (tree != nullptr)
    for_each_entry(*tree, "switches", "switch",
                   [&](const config::Value& item, const std::string& name) {
                     builder.add_switch(item.origin.line, name, hosts_text(find(item, "children")),
                                        hosts_text(find(item, "nodes")));
                   });
  if (block != nullptr)
    for_each_entry(*block, "blocks", "block",
                   [&](const config::Value& item, const std::string& name) {
                     builder.add_block(item.origin.line, name, hosts_text(find(item, "nodes")));
                   });
  FabricParts parts = builder.finish();
  if (root.items.size() > 1)
    parts.findings.push_back(
        {"topology", find(chosen, "topology")->text, parts.source.location(chosen.origin.line)});
  return parts;
}

}  // namespace pipewright::cluster
