#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/platform/node_options.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/make/make_platform.hpp"

namespace pipewright::cli {
namespace {

po::options_description make_options() {
  po::options_description options("options of 'make'", 100);
  const auto count = [](const char* name) { return po::value<int>()->value_name(name); };
  const auto ratio = [] { return po::value<double>()->value_name("R"); };
  auto add = options.add_options();
  add("node", several_words("KIND.."),
      "the kind of node, or several: names below, or files like those of platforms/nodes");
  add("nodes", several_words("N.."), "how many of each kind (1)");
  add_node_options(options);
  add("fabric", one_word("FABRIC"), "what joins them (rail); see below");
  add("oversubscription", ratio(),
      "but torus: what a leaf's nodes can send over what goes up from it (1)");
  add("core-oversubscription", ratio(), "fat-tree: the same of what goes up from a pod (1)");
  add("spines", count("N"),
      "rail, leaf-spine, fat-tree: so many apart, of each plane, each of which can fail (one link "
      "for all cables); dragonfly+: of a group (as many as leaves)");
  add("planes", count("N"), "rail, fat-tree: networks that each NIC has a port in (1)");
  add("leaf-nodes", count("N"), "but torus: nodes on a leaf, or on the leaves of their rails");
  add("pod-leaves", count("N"), "fat-tree: such leaves, or sets of rails, in a pod (4)");
  add("group-leaves", count("N"), "dragonfly, dragonfly+: leaves in a group (4)");
  add("dimensions", several_words("N.."), "torus: its sides; as near to a cube as can be");
  add("output,o", one_word("FILE.xml"), "where to; else printed");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright platform make --node KIND --nodes N [OPTIONS] -o FILE.xml\n"
      "\n"
      "Writes a cluster as a platform file in SimGrid's XML. Its numbers stand in it, each with\n"
      "where it comes from: change what your cluster has otherwise. Other SimGrid programs load "
      "it\n"
      "too, and find the ways inside nodes and between NICs; which NIC a GPU reaches other nodes "
      "by\n"
      "is its property 'nic', which is pipewright's own.\n"
      "\n"
      "  pipewright platform make --node dgx-h100 --nodes 64 -o rails.xml\n"
      "  pipewright platform make --node dgx-h100 --nodes 2048 --fabric fat-tree -o llama3.xml\n"
      "  pipewright platform make --node dgx-a100 --nodes 16 --fabric leaf-spine\n"
      "      --oversubscription 2 -o thin.xml\n"
      "  pipewright platform make --node dgx-h100 --nodes 64 --spines 8 --planes 2 -o dual.xml\n"
      "  pipewright platform make --node dgx-a100 dgx-h100 --nodes 2 2 -o mixed.xml\n"
      "  pipewright platform make --node a100-4nic --nodes 27 --fabric torus --dimensions 3 3 3\n"
      "  pipewright platform make --node dgx-h100 --nic '94 GB/s' --nodes 16   # with faster NICs\n"
      "  pipewright platform make --gpu h200 --nvlink '370 GB/s' --nic '47 GB/s' --nodes 16\n"
      "\n{}\nnodes:\n",
      describe(make_options()));
  for (const std::string& name : cluster::node_kind_names())
    fmt::print("  {:<12} {}\n", name, cluster::find_node_kind(name).help);
  fmt::print("\nkeys of a node's file:\n");
  for (const config::KeyRow& key : cluster::node_kind_keys())
    fmt::print("  {:<16} {}\n", key.name, help_line(key));
  fmt::print("\nfabrics:\n");
  for (const cluster::Fabric& fabric : cluster::fabrics())
    fmt::print("  {:<12} {}\n", fabric.name, fabric.help);
  return exit_ok;
}

std::uint32_t whole(const std::string& text, std::string_view option) {
  std::size_t end = 0;
  long long number = 0;
  try {
    number = std::stoll(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end != text.size() || text.empty() || number < 1 || number > 1'000'000)
    throw UsageError(fmt::format("{} {}: a whole number from 1 to 1000000", option, text));
  return static_cast<std::uint32_t>(number);
}

// `kinds` outlives what is returned.
std::vector<cluster::NodeGroup> node_groups(const po::variables_map& given,
                                            std::vector<cluster::NodeKind>& kinds) {
  for (const auto& [name, tree] : node_trees(given, values(given, "node"), "make"))
    kinds.push_back(cluster::read_node_kind(tree, name));
  const std::vector<std::string> counts = values(given, "nodes");
  if (!counts.empty() && counts.size() != kinds.size())
    throw UsageError(fmt::format("--node names {} kinds, --nodes has {} numbers; one each",
                                 kinds.size(), counts.size()));
  std::vector<cluster::NodeGroup> groups;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    groups.push_back({&kinds[i], counts.empty() ? 1 : whole(counts[i], "--nodes")});
  return groups;
}

// An option of another fabric would change nothing, and stand in the file as if it had.
void check_fabric(const po::variables_map& given, const std::string& fabric) {
  using Names = std::vector<std::string_view>;
  const Names trees{"rail", "leaf-spine", "fat-tree", "dragonfly", "dragonfly+"};
  for (const auto& [option, fabrics] :
       {std::pair{"oversubscription", trees}, std::pair{"leaf-nodes", trees},
        std::pair{"spines", Names{"rail", "leaf-spine", "fat-tree", "dragonfly+"}},
        std::pair{"planes", Names{"rail", "fat-tree"}},
        std::pair{"core-oversubscription", Names{"fat-tree"}},
        std::pair{"pod-leaves", Names{"fat-tree"}},
        std::pair{"group-leaves", Names{"dragonfly", "dragonfly+"}},
        std::pair{"dimensions", Names{"torus"}}})
    if (given.count(option) != 0 && std::ranges::find(fabrics, fabric) == fabrics.end())
      throw UsageError(fmt::format("--{} does nothing for --fabric {}; it is for {}", option,
                                   fabric, fmt::join(fabrics, ", ")));
}

}  // namespace

int make_platform_file(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, make_options(), "extra");
  if (given.count("help") != 0) return print_help();
  if (given.count("extra") != 0)
    throw UsageError(
        fmt::format("platform make: '{}' belongs to no option", values(given, "extra").front()));
  std::vector<cluster::NodeKind> kinds;
  cluster::PlatformRequest request{.nodes = node_groups(given, kinds)};
  const auto set_count = [&](const char* option, std::uint32_t& count) {
    if (given.count(option) != 0)
      count = whole(std::to_string(given[option].as<int>()), std::string("--") + option);
  };
  const auto set_ratio = [&](const char* option, double& ratio) {
    if (given.count(option) != 0) ratio = given[option].as<double>();
  };
  if (given.count("fabric") != 0) request.fabric = given["fabric"].as<std::string>();
  if (std::ranges::any_of(cluster::fabrics(), [&](const cluster::Fabric& fabric) {
        return fabric.name == request.fabric;
      }))
    check_fabric(given, request.fabric);
  set_ratio("oversubscription", request.oversubscription);
  set_ratio("core-oversubscription", request.core_oversubscription);
  set_count("leaf-nodes", request.leaf_nodes);
  set_count("spines", request.spines);
  set_count("planes", request.planes);
  set_count("pod-leaves", request.pod_leaves);
  set_count("group-leaves", request.group_leaves);
  for (const std::string& side : values(given, "dimensions"))
    request.dimensions.push_back(whole(side, "--dimensions"));
  request.made_by = command_of("make", arguments);
  const std::string text = cluster::make_platform(request);
  if (given.count("output") == 0) {
    fmt::print("{}", text);
    return exit_ok;
  }
  const std::string file = given["output"].as<std::string>();
  if (!file.ends_with(".xml"))
    throw UsageError(fmt::format("-o {}: a platform file ends in .xml", file));
  trace::write_file(file, text);
  fmt::print("wrote   {}\n", file);
  return exit_ok;
}

}  // namespace pipewright::cli
