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

po::options_description import_options() {
  po::options_description options("options of 'import'", 100);
  auto add = options.add_options();
  add("node", one_word("KIND"), "of a fabric: its kind of node, as 'platform make' takes it");
  add_node_options(options);
  add("only", several_words("HOST.."), "of a fabric: these hosts alone, as in 'dgx-*'");
  add("skip", several_words("HOST.."), "of a fabric: all hosts but these");
  add("skip-incomplete", "of ibnetdiscover: all hosts but those with another number of NICs");
  add("oversubscription", po::value<double>()->value_name("R"),
      "of Slurm's files: what is below a switch over what goes up from it (1)");
  add("host-gpus", one_word("N"), "of blocks: GPUs of a host, whose block is an NVLink domain");
  add("topology", one_word("NAME"), "of topology.yaml: which (cluster_default's)");
  add("output,o", one_word("FILE"), "where to: .yaml of a node, .xml of a fabric; else printed");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright platform import FILE.. [OPTIONS] -o FILE\n"
      "\n"
      "Makes a file of a node, or a platform file, of what you have. Files are known by what they\n"
      "hold, not by their names. Of a node:\n"
      "\n"
      "  NCCL's topology      mpirun .. -x NCCL_TOPO_DUMP_FILE=topo.xml ./all_reduce_perf -g 8\n"
      "  nvidia-smi           nvidia-smi topo -m > topo.txt\n"
      "\n"
      "  pipewright platform import topo.xml -o box.yaml\n"
      "  pipewright platform import topo.txt --gpu h100-sxm --nic '47 GB/s' -o box.yaml\n"
      "  pipewright platform make --node box.yaml --nodes 16 -o cluster.xml\n"
      "\n"
      "Of a fabric, whose nodes --node or a file of a node describes:\n"
      "\n"
      "  InfiniBand           ibnetdiscover > fabric.txt\n"
      "  Slurm                /etc/slurm/topology.conf, or topology.yaml: switches or blocks\n"
      "\n"
      "  pipewright platform import fabric.txt --node dgx-h100 -o cluster.xml\n"
      "  pipewright platform import fabric.txt topo.xml --only 'dgx-*' -o cluster.xml\n"
      "  pipewright platform import topology.conf --node dgx-h100 --oversubscription 2\n"
      "      -o cluster.xml\n"
      "  pipewright platform import blocks.conf --node gb200-nvl72 --host-gpus 4 -o cluster.xml\n"
      "\n"
      "What was taken, from where, and what was left out is printed with -o, and stands in the\n"
      "file. Options stand before what a file says.\n"
      "\n{}",
      describe(import_options()));
  return exit_ok;
}

struct Sources {
  std::optional<cluster::SourceText> node;
  std::optional<cluster::SourceText> fabric;
  SourceKind node_kind{};
  SourceKind fabric_kind{};
};

Sources read_sources(const std::vector<std::string>& files) {
  if (files.empty())
    throw UsageError(
        "platform import: which files? NCCL's topology, 'nvidia-smi topo -m', 'ibnetdiscover' or "
        "Slurm's topology; --help has an example of each");
  Sources sources;
  for (const std::string& file : files) {
    cluster::SourceText source = cluster::read_source(file);
    const SourceKind kind = cluster::recognise(source);
    const bool of_node = cluster::is_of_node(kind);
    auto& place = of_node ? sources.node : sources.fabric;
    if (place)
      throw UsageError(
          fmt::format("platform import: {} and {} both tell of a {}; allowed: one of a "
                      "node, and one of a fabric",
                      place->name, file, of_node ? "node" : "fabric"));
    (of_node ? sources.node_kind : sources.fabric_kind) = kind;
    place = std::move(source);
  }
  return sources;
}

cluster::NodeWords node_words(const po::variables_map& given) {
  cluster::NodeWords words;
  for (const NodeOption& one : node_options)
    if (const std::string option(one.option); given.count(option) != 0)
      words.emplace(one.key, given[option].as<std::string>());
  return words;
}

cluster::ImportedNode import_node(const po::variables_map& given, Sources& sources) {
  if (given.count("node") != 0)
    throw UsageError(
        fmt::format("platform import: --node and {} both tell of the node; allowed: "
                    "one of them",
                    sources.node->name));
  const std::string name = std::filesystem::path(sources.node->name).stem().string();
  const cluster::NodeParts parts = sources.node_kind == SourceKind::nccl_topology
                                       ? cluster::read_nccl_topology(std::move(*sources.node))
                                       : cluster::read_smi_matrix(std::move(*sources.node));
  return cluster::import_node(parts, node_words(given), name);
}

cluster::FabricParts read_fabric(Sources& sources, const std::string& topology) {
  switch (sources.fabric_kind) {
    case SourceKind::ibnetdiscover:
      return cluster::read_ibnetdiscover(std::move(*sources.fabric));
    case SourceKind::slurm_conf:
      return cluster::read_slurm_conf(std::move(*sources.fabric));
    default:
      return cluster::read_slurm_yaml(std::move(*sources.fabric), topology);
  }
}

// An option that would change nothing.
void check_options(const po::variables_map& given, const Sources& sources) {
  const bool is_fabric = sources.fabric.has_value();
  const auto is = [&](SourceKind kind) { return is_fabric && sources.fabric_kind == kind; };
  const bool slurm = is(SourceKind::slurm_conf) || is(SourceKind::slurm_yaml);
  for (const auto& [option, applies, what] :
       {std::tuple{"node", is_fabric, "a fabric"}, std::tuple{"only", is_fabric, "a fabric"},
        std::tuple{"skip", is_fabric, "a fabric"},
        std::tuple{"skip-incomplete", is(SourceKind::ibnetdiscover), "ibnetdiscover"},
        std::tuple{"oversubscription", slurm, "Slurm's files"},
        std::tuple{"host-gpus", slurm, "Slurm's files"},
        std::tuple{"topology", is(SourceKind::slurm_yaml), "topology.yaml"}})
    if (given.count(option) != 0 && !applies)
      throw UsageError(fmt::format("--{} does nothing here; it is for {}", option, what));
}

cluster::FabricChoices choices_of(const po::variables_map& given, const Arguments& arguments) {
  cluster::FabricChoices choices{.only = values(given, "only"),
                                 .skip = values(given, "skip"),
                                 .skip_incomplete = given.count("skip-incomplete") != 0,
                                 .made_by = command_of("import", arguments)};
  if (given.count("oversubscription") != 0) {
    choices.oversubscription = given["oversubscription"].as<double>();
    const bool is_possible = choices.oversubscription >= 0.01 && choices.oversubscription <= 100;
    if (!is_possible)  // also of no number
      throw UsageError(
          fmt::format("--oversubscription {:g} must be from 0.01 to 100; 1 blocks "
                      "nothing, 2 halves what goes up",
                      choices.oversubscription));
  }
  if (given.count("host-gpus") != 0) choices.host_gpus = read_count(given, "host-gpus");
  return choices;
}

std::string findings_text(const cluster::Findings& findings) {
  std::vector<std::string> whats, values, froms;
  for (const cluster::Finding& one : findings) {
    whats.push_back(analysis::printable(one.what));
    values.push_back(analysis::printable(one.value));
    froms.push_back(analysis::printable(one.from));
  }
  analysis::TextTable table;
  table.add_names("what", std::move(whats));
  table.add_names("value", std::move(values));
  table.add_names("from", std::move(froms));
  return table.text();
}

}  // namespace

int import_platform(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, import_options(), "file");
  if (given.count("help") != 0) return print_help();
  const std::vector<std::string> files = values(given, "file");
  Sources sources = read_sources(files);
  check_options(given, sources);
  const bool is_fabric = sources.fabric.has_value();
  std::string output;
  if (given.count("output") != 0) {
    output = given["output"].as<std::string>();
    if (!output.ends_with(is_fabric ? ".xml" : ".yaml"))
      throw UsageError(
          is_fabric ? fmt::format("-o {}: a platform file ends in .xml", output)
                    : fmt::format("-o {}: the file of a node ends in .yaml; 'platform make --node' "
                                  "makes clusters of it",
                                  output));
    check_files(std::vector<std::filesystem::path>(files.begin(), files.end()),
                std::vector<std::filesystem::path>{output});
  }
  std::string text;
  cluster::Findings findings;
  std::optional<cluster::ImportedNode> node;
  const std::string node_file = sources.node ? sources.node->name : "";
  if (sources.node) {
    node = import_node(given, sources);
    text = node->yaml;
    findings = node->findings;
  }
  if (is_fabric) {
    const std::string topology =
        given.count("topology") != 0 ? given["topology"].as<std::string>() : "";
    cluster::FabricParts parts = read_fabric(sources, topology);
    if (!node) {
      std::vector<std::string> kinds;
      if (given.count("node") != 0) kinds.push_back(given["node"].as<std::string>());
      const auto [name, tree] = node_trees(given, kinds, "import").front();
      node = {.kind = cluster::read_node_kind(tree, name), .yaml = {}, .findings = {}};
    }
    cluster::FabricChoices choices = choices_of(given, arguments);
    if (!node_file.empty()) choices.node_from = node_file;
    cluster::ImportedFabric fabric = cluster::import_fabric(std::move(parts), node->kind, choices);
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
