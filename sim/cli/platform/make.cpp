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
      "one or several kinds of node: names below, or files in the format of platforms/nodes");
  add("nodes", several_words("N.."), "number of nodes of each kind (1)");
  add_node_options(options);
  add("fabric", one_word("FABRIC"), "kind of fabric (rail); see below");
  add("oversubscription", ratio(),
      "oversubscription of leaves: bandwidth of the nodes / bandwidth of the uplinks; not for "
      "torus (1)");
  add("core-oversubscription", ratio(), "fat-tree: oversubscription of the uplinks of a pod (1)");
  add("spines", count("N"),
      "rail, leaf-spine, fat-tree: number of separate spines per plane, each of which can fail "
      "(all cables merged into one link); dragonfly+: number of spines per group (as many as "
      "leaves)");
  add("planes", count("N"), "rail, fat-tree: number of networks in which each NIC has a port (1)");
  add("leaf-nodes", count("N"),
      "number of nodes per leaf, or per group of rail leaves; not for torus");
  add("pod-leaves", count("N"),
      "fat-tree: number of leaves, or groups of rail leaves, per pod (4)");
  add("group-leaves", count("N"), "dragonfly, dragonfly+: number of leaves per group (4)");
  add("dimensions", several_words("N.."), "torus: size of each dimension (close to a cube)");
  add("output,o", one_word("FILE.xml"), "output file (standard output)");
  add("help,h", "print this help");
  return options;
}

int print_platform_make_help() {
  fmt::print(
      "usage: pipewright platform make --node KIND --nodes N [OPTIONS] -o FILE.xml\n"
      "\n"
      "Writes a cluster as a platform file in SimGrid's XML. The file lists the source of each\n"
      "number; edit what differs in your cluster. Other SimGrid programs can load it too, and\n"
      "find routes inside nodes and between NICs; the property 'nic', which assigns NICs to\n"
      "GPUs, is pipewright's own.\n"
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
      "\n"
      "{}\n"
      "nodes:\n",
      describe(make_options()));
  for (const std::string& name : cluster::node_kind_names())
    fmt::print("  {:<12} {}\n", name, cluster::find_node_kind(name).help);
  fmt::print("\nkeys of a node file:\n");
  for (const config::KeyRow& key : cluster::node_kind_keys())
    fmt::print("  {:<16} {}\n", key.name, help_line(key));
  fmt::print("\nfabrics:\n");
  for (const cluster::Fabric& fabric : cluster::fabrics())
    fmt::print("  {:<12} {}\n", fabric.name, fabric.help);
  return exit_ok;
}

std::uint32_t parse_whole_number(const std::string& text, std::string_view option) {
  std::size_t end = 0;
  long long number = 0;
  try {
    number = std::stoll(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end != text.size() || text.empty() || number < 1 || number > 1'000'000)
    throw UsageError(fmt::format("{} {}: must be a whole number from 1 to 1000000", option, text));
  return static_cast<std::uint32_t>(number);
}

// Groups of nodes that --node and --nodes ask for. They point into `kinds`, which must outlive
// them.
std::vector<cluster::NodeGroup> node_groups(const po::variables_map& options,
                                            std::vector<cluster::NodeKind>& kinds) {
  for (const auto& [name, tree] : node_trees(options, values(options, "node"), "make"))
    kinds.push_back(cluster::read_node_kind(tree, name));
  const std::vector<std::string> counts = values(options, "nodes");
  if (!counts.empty() && counts.size() != kinds.size())
    throw UsageError(fmt::format("--node names {} kinds, but --nodes has {} numbers", kinds.size(),
                                 counts.size()))
        .suggest("give one number per kind");
  std::vector<cluster::NodeGroup> groups;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    groups.push_back({&kinds[i], counts.empty() ? 1 : parse_whole_number(counts[i], "--nodes")});
  return groups;
}

// Rejects options of other fabrics, which have no effect but would be recorded in the file.
void check_fabric(const po::variables_map& options, const std::string& fabric) {
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
    if (options.count(option) != 0 && std::ranges::find(fabrics, fabric) == fabrics.end())
      throw UsageError(fmt::format("--{} has no effect for --fabric {}; it is for {}", option,
                                   fabric, fmt::join(fabrics, ", ")));
}

}  // namespace

int make_platform_file(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, make_options(), "extra");
  if (options.count("help") != 0) return print_platform_make_help();
  if (options.count("extra") != 0)
    throw UsageError(
        fmt::format("platform make takes options alone, not '{}'; options begin with --",
                    values(options, "extra").front()));
  std::vector<cluster::NodeKind> kinds;
  cluster::PlatformRequest request{.nodes = node_groups(options, kinds)};
  const auto set_count = [&](const char* option, std::uint32_t& count) {
    if (options.count(option) != 0)
      count =
          parse_whole_number(std::to_string(options[option].as<int>()), std::string("--") + option);
  };
  const auto set_ratio = [&](const char* option, double& ratio) {
    if (options.count(option) != 0) ratio = options[option].as<double>();
  };
  if (options.count("fabric") != 0) request.fabric = options["fabric"].as<std::string>();
  if (std::ranges::any_of(cluster::fabrics(), [&](const cluster::Fabric& fabric) {
        return fabric.name == request.fabric;
      }))
    check_fabric(options, request.fabric);
  set_ratio("oversubscription", request.oversubscription);
  set_ratio("core-oversubscription", request.core_oversubscription);
  set_count("leaf-nodes", request.leaf_nodes);
  set_count("spines", request.spines);
  set_count("planes", request.planes);
  set_count("pod-leaves", request.pod_leaves);
  set_count("group-leaves", request.group_leaves);
  for (const std::string& side : values(options, "dimensions"))
    request.dimensions.push_back(parse_whole_number(side, "--dimensions"));
  request.made_by = command_of("make", arguments);
  const std::string text = cluster::make_platform(request);
  if (options.count("output") == 0) {
    fmt::print("{}", text);
    return exit_ok;
  }
  const std::string file = options["output"].as<std::string>();
  if (!file.ends_with(".xml"))
    throw UsageError(fmt::format("-o {}: the file name must end in .xml", file));
  trace::write_file(file, text);
  fmt::print("wrote   {}\n", file);
  return exit_ok;
}

}  // namespace pipewright::cli
