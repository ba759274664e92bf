#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/platform/node_options.hpp"
#include "sim/cluster/import/fabric_file.hpp"
#include "sim/cluster/import/node_file.hpp"
#include "sim/cluster/import/recognise.hpp"
#include "sim/cluster/platform/error.hpp"

namespace pipewright::cli {
namespace {

using cluster::SourceKind;

po::options_description platform_import_options() {
  po::options_description options("options of 'import'", 100);
  auto add = options.add_options();
  add("node", one_word("KIND"), "kind of the nodes of a fabric, as for 'platform make'");
  add_node_options(options);
  add("only", several_words("HOST.."), "include only these hosts of a fabric, such as 'dgx-*'");
  add("skip", several_words("HOST.."), "leave out these hosts of a fabric");
  add("skip-incomplete",
      "leave out hosts whose number of NICs differs from the node (ibnetdiscover)");
  add("oversubscription", po::value<double>()->value_name("R"),
      "oversubscription of every switch: bandwidth below / bandwidth above (Slurm) (1)");
  add("host-gpus", one_word("N"), "GPUs per host, if blocks are NVLink domains (Slurm)");
  add("topology", one_word("NAME"),
      "topology to read from topology.yaml (that of cluster_default)");
  add("output,o", one_word("FILE"),
      "output file: .yaml for a node, .xml for a fabric (standard output)");
  add("help,h", "print this help");
  return options;
}

int print_platform_import_help() {
  fmt::print(
      "usage: pipewright platform import FILE.. [OPTIONS] -o FILE\n"
      "\n"
      "Writes a node file or a platform file from the output of other tools. Files are\n"
      "recognized by their content. Sources for a node:\n"
      "\n"
      "  NCCL's topology      mpirun .. -x NCCL_TOPO_DUMP_FILE=topo.xml ./all_reduce_perf -g 8\n"
      "  nvidia-smi           nvidia-smi topo -m > topo.txt\n"
      "\n"
      "  pipewright platform import topo.xml -o box.yaml\n"
      "  pipewright platform import topo.txt --gpu h100-sxm --nic '47 GB/s' -o box.yaml\n"
      "  pipewright platform make --node box.yaml --nodes 16 -o cluster.xml\n"
      "\n"
      "Sources for a fabric, whose nodes are described by --node or by a source for a node:\n"
      "\n"
      "  InfiniBand           ibnetdiscover > fabric.txt\n"
      "  Slurm                /etc/slurm/topology.conf, or topology.yaml: switches or blocks\n"
      "                       scontrol show topology > topology.txt\n"
      "\n"
      "  pipewright platform import fabric.txt --node dgx-h100 -o cluster.xml\n"
      "  pipewright platform import fabric.txt topo.xml --only 'dgx-*' -o cluster.xml\n"
      "  pipewright platform import topology.conf --node dgx-h100 --oversubscription 2\n"
      "      -o cluster.xml\n"
      "  pipewright platform import blocks.conf --node gb200-nvl72 --host-gpus 4 -o cluster.xml\n"
      "\n"
      "With -o, prints the imported values, their origin, and what was left out; the file\n"
      "contains the same list. Options override values from files.\n"
      "\n"
      "{}",
      describe(platform_import_options()));
  return exit_ok;
}

struct ImportSources {
  std::optional<cluster::SourceText> node;
  std::optional<cluster::SourceText> fabric;
  SourceKind node_kind{};
  SourceKind fabric_kind{};
};

ImportSources read_sources(const std::vector<std::string>& files) {
  if (files.empty())
    throw UsageError("platform import needs a file")
        .suggest("--help has an example of each")
        .allow(
            "NCCL's topology, output of 'nvidia-smi topo -m' or 'ibnetdiscover', Slurm's topology");
  ImportSources sources;
  for (const std::string& file : files) {
    cluster::SourceText source = cluster::read_source(file);
    const SourceKind kind = cluster::recognise(source);
    const bool is_node = cluster::is_node_source(kind);
    auto& source_slot = is_node ? sources.node : sources.fabric;
    if (source_slot)
      throw UsageError(
          fmt::format("{} and {} both describe a {}; platform import takes one node and one fabric",
                      source_slot->name, file, is_node ? "node" : "fabric"));
    (is_node ? sources.node_kind : sources.fabric_kind) = kind;
    source_slot = std::move(source);
  }
  return sources;
}

cluster::NodeOptions node_options_of(const po::variables_map& options) {
  cluster::NodeOptions settings;
  for (const NodeOption& candidate : node_options)
    if (const std::string option(candidate.option); options.count(option) != 0)
      settings.emplace(candidate.key, options[option].as<std::string>());
  return settings;
}

cluster::ImportedNode import_node(const po::variables_map& options, ImportSources& sources) {
  if (options.count("node") != 0)
    throw UsageError(
        fmt::format("--node and {} both describe the node; platform import takes one of them",
                    sources.node->name));
  const std::string name = std::filesystem::path(sources.node->name).stem().string();
  const cluster::NodeParts parts = sources.node_kind == SourceKind::nccl_topology
                                       ? cluster::read_nccl_topology(std::move(*sources.node))
                                       : cluster::read_smi_matrix(std::move(*sources.node));
  return cluster::import_node(parts, node_options_of(options), name);
}

cluster::FabricParts read_fabric(ImportSources& sources, const std::string& topology) {
  switch (sources.fabric_kind) {
    case SourceKind::ibnetdiscover:
      return cluster::read_ibnetdiscover(std::move(*sources.fabric));
    case SourceKind::slurm_conf:
      return cluster::read_slurm_conf(std::move(*sources.fabric));
    default:
      return cluster::read_slurm_yaml(std::move(*sources.fabric), topology);
  }
}

// Rejects options that have no effect on the given kind of file.
void check_effective(const po::variables_map& options, const ImportSources& sources) {
  const bool is_fabric = sources.fabric.has_value();
  const auto is_kind = [&](SourceKind kind) { return is_fabric && sources.fabric_kind == kind; };
  const bool slurm = is_kind(SourceKind::slurm_conf) || is_kind(SourceKind::slurm_yaml);
  for (const auto& [option, applies, source] :
       {std::tuple{"node", is_fabric, "a fabric"}, std::tuple{"only", is_fabric, "a fabric"},
        std::tuple{"skip", is_fabric, "a fabric"},
        std::tuple{"skip-incomplete", is_kind(SourceKind::ibnetdiscover), "ibnetdiscover"},
        std::tuple{"oversubscription", slurm, "Slurm's files"},
        std::tuple{"host-gpus", slurm, "Slurm's files"},
        std::tuple{"topology", is_kind(SourceKind::slurm_yaml), "topology.yaml"}})
    if (options.count(option) != 0 && !applies)
      throw UsageError(fmt::format("--{} has no effect here; it is for {}", option, source));
}

cluster::FabricOptions fabric_options_of(const po::variables_map& options,
                                         const Arguments& arguments) {
  cluster::FabricOptions fabric_options{.only = values(options, "only"),
                                        .skip = values(options, "skip"),
                                        .skip_incomplete = options.count("skip-incomplete") != 0,
                                        .made_by = command_of("import", arguments)};
  if (options.count("oversubscription") != 0) {
    fabric_options.oversubscription = options["oversubscription"].as<double>();
    const bool is_possible =
        fabric_options.oversubscription >= 0.01 && fabric_options.oversubscription <= 100;
    if (!is_possible)  // also rejects NaN
      throw UsageError(
          fmt::format("--oversubscription {:g} must be from 0.01 to 100; 1 is non-blocking, 2 "
                      "halves the uplink bandwidth",
                      fabric_options.oversubscription));
  }
  if (options.count("host-gpus") != 0) fabric_options.host_gpus = read_count(options, "host-gpus");
  return fabric_options;
}

std::string findings_text(const cluster::Findings& findings) {
  std::vector<std::string> subjects, values, origins;
  for (const cluster::Finding& finding : findings) {
    subjects.push_back(analysis::printable(finding.subject));
    values.push_back(analysis::printable(finding.value));
    origins.push_back(analysis::printable(finding.origin));
  }
  analysis::TextTable table;
  table.add_names("item", std::move(subjects));
  table.add_names("value", std::move(values));
  table.add_names("origin", std::move(origins));
  return table.text();
}

}  // namespace

int import_platform(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, platform_import_options(), "file");
  if (options.count("help") != 0) return print_platform_import_help();
  const std::vector<std::string> files = values(options, "file");
  ImportSources sources = read_sources(files);
  check_effective(options, sources);
  const bool is_fabric = sources.fabric.has_value();
  std::string output;
  if (options.count("output") != 0) {
    output = options["output"].as<std::string>();
    if (!output.ends_with(is_fabric ? ".xml" : ".yaml"))
      throw UsageError(
          is_fabric
              ? fmt::format("-o {}: the file name of a platform file must end in .xml", output)
              : fmt::format("-o {}: the file name of a node file must end in .yaml; 'platform make "
                            "--node' makes clusters from it",
                            output));
    check_files(std::vector<std::filesystem::path>(files.begin(), files.end()),
                std::vector<std::filesystem::path>{output});
  }
  std::string text;
  cluster::Findings findings;
  std::optional<cluster::ImportedNode> node;
  const std::string node_file = sources.node ? sources.node->name : "";
  if (sources.node) {
    node = import_node(options, sources);
    text = node->yaml;
    findings = node->findings;
  }
  if (is_fabric) {
    const std::string topology =
        options.count("topology") != 0 ? options["topology"].as<std::string>() : "";
    cluster::FabricParts parts = read_fabric(sources, topology);
    if (!node) {
      std::vector<std::string> kinds;
      if (options.count("node") != 0) kinds.push_back(options["node"].as<std::string>());
      const auto [name, tree] = node_trees(options, kinds, "import").front();
      node = {.kind = cluster::read_node_kind(tree, name), .yaml = {}, .findings = {}};
    }
    cluster::FabricOptions fabric_options = fabric_options_of(options, arguments);
    if (!node_file.empty()) fabric_options.node_origin = node_file;
    cluster::ImportedFabric fabric =
        cluster::import_fabric(std::move(parts), node->kind, fabric_options);
    text = std::move(fabric.xml);
    findings.insert(findings.end(), fabric.findings.begin(), fabric.findings.end());
  }
  if (output.empty()) {
    fmt::print("{}", text);
    return exit_ok;
  }
  trace::write_file(output, text);
  fmt::print("{}\nwrote   {}\n", findings_text(findings), output);
  if (is_fabric)
    fmt::print("next    pipewright platform check {}\n", output);
  else
    fmt::print("next    pipewright platform make --node {} --nodes 16 -o cluster.xml\n", output);
  return exit_ok;
}

}  // namespace pipewright::cli
