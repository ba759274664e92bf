#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analysis/commlogs/pictures/heat_map.hpp"
#include "analysis/commlogs/reports/matrix_report.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/comm/contention.hpp"

namespace pipewright::cli {
namespace {

po::options_description matrix_options() {
  po::options_description options("options", 100);
  const auto words = [](const char* name) {
    return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
  };
  add_cluster_option(options);
  add_failure_options(options);
  auto add = options.add_options();
  add("gpus", po::value<int>()->value_name("N"), "use the first N GPUs of the cluster (all)");
  add("hosts", words("GPU.."), "use these GPUs, in this order");
  add("by", po::value<std::string>()->value_name("gpu|node"),
      "rows and columns of the matrix: GPUs or nodes (gpu); a pair of nodes shows its worst pair "
      "of GPUs");
  add("size", po::value<std::string>()->value_name("BYTES"),
      "message size; the bandwidth then includes the latency of such a message");
  add("seed", po::value<int>()->value_name("N"),
      "seed of the search for the worst permutation (1)");
  add("swaps", po::value<int>()->value_name("N"),
      "number of swaps that the search for the worst permutation tries (1,000 to 20,000, by the "
      "number of GPUs)");
  add("output,o", words("FILE.."),
      "write a heat map (.svg, .png, .pdf) or all figures (.json, .csv)");
  add("help,h", "print this help");
  return options;
}

int print_matrix_help() {
  fmt::print(
      "usage: pipewright comm matrix --cluster FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "Shows the bandwidth and latency of every pair of GPUs without other traffic. Then shows\n"
      "all GPUs at the same time, under max-min fair sharing: the bisection, and the worst\n"
      "permutation found (every GPU sends to one GPU and receives from one), by total rate.\n"
      "\n"
      "  pipewright comm matrix --cluster dgx-a100\n"
      "  pipewright comm matrix --cluster dgx-h100-hdr200 --gpus 64 -o pairs.svg\n"
      "  pipewright comm matrix --cluster dgx-1-v100 --by node --size 1M\n"
      "  pipewright comm matrix --cluster dgx-a100 --hosts node-0-gpu-0 node-1-gpu-0 node-2-gpu-1\n"
      "\n"
      "{}",
      describe(matrix_options()));
  return exit_ok;
}

int whole_number(const po::variables_map& options, const std::string& option, int minimum) {
  const int value = options[option].as<int>();
  if (value < minimum)
    throw UsageError(fmt::format("--{} {}: must be a whole number >= {}", option, value, minimum));
  return value;
}

std::vector<cluster::Host*> chosen_hosts(const cluster::Cluster& cluster,
                                         const po::variables_map& options) {
  const std::vector<std::string> names = values(options, "hosts");
  if (!names.empty() && options.count("gpus") != 0)
    throw UsageError("--gpus and --hosts cannot be combined");
  auto count = static_cast<std::uint32_t>(names.empty() ? cluster.gpus().size() : names.size());
  if (options.count("gpus") != 0)
    count = static_cast<std::uint32_t>(whole_number(options, "gpus", 2));
  if (count < 2) throw UsageError("comm matrix needs at least 2 GPUs");
  return cluster.place(names, count);
}

bool by_nodes(const po::variables_map& options) {
  const std::string word = options.count("by") != 0 ? options["by"].as<std::string>() : "gpu";
  if (word != "gpu" && word != "node")
    throw UsageError(fmt::format("--by '{}': must be gpu or node", word));
  return word == "node";
}

std::uint64_t message_size(const po::variables_map& options) {
  if (options.count("size") == 0) return 0;
  const auto sizes = parse_sizes(options["size"].as<std::string>(), "--size");
  if (sizes.size() != 1) throw UsageError("--size takes one size, such as 1M");
  return sizes.front();
}

std::vector<Output> matrix_outputs(const po::variables_map& options) {
  std::vector<std::filesystem::path> files;
  for (const std::string& file : values(options, "output")) files.emplace_back(file);
  check_files({}, files);
  std::vector<Output> outputs = parse_outputs(files);
  for (const Output& output : outputs)
    if (output.kind == OutputKind::html)
      throw UsageError(fmt::format("{}: the file name must end in .svg, .png, .pdf, .json or .csv",
                                   output.file.string()));
  return outputs;
}

void write_matrix(const Output& output, const analysis::MatrixReport& report) {
  const auto draw = [&](analysis::PictureKind kind) {
    const analysis::HeatMapWords words{
        .title = report.cluster,
        .details = fmt::format("{} GPUs, each pair without other traffic", report.by_gpu.size())};
    analysis::draw_heat_map(report.matrix, report.message, words, output.file, kind);
  };
  switch (output.kind) {
    case OutputKind::svg:
      return draw(analysis::PictureKind::svg);
    case OutputKind::png:
      return draw(analysis::PictureKind::png);
    case OutputKind::pdf:
      return draw(analysis::PictureKind::pdf);
    case OutputKind::csv:
      return trace::write_file(output.file,
                               [&](std::ostream& out) { analysis::write_matrix_csv(report, out); });
    case OutputKind::json:
    case OutputKind::html:
      return trace::write_file(output.file, analysis::matrix_json(report));
  }
}

// Progress callback that draws a bar and checks for interrupts.
auto bar_progress(ProgressBar& bar, const std::string& details) {
  return [&bar, details](double share) {
    throw_if_interrupted();
    if (bar.is_due()) bar.draw(share, details);
  };
}

}  // namespace

int comm_matrix(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, matrix_options(), "extra");
  if (options.count("help") != 0) return print_matrix_help();
  if (options.count("extra") != 0)
    throw UsageError(fmt::format("comm matrix takes options alone, not '{}'; options begin with --",
                                 values(options, "extra").front()));
  const bool nodes = by_nodes(options);
  const std::vector<Output> outputs = matrix_outputs(options);
  analysis::MatrixReport report{.message = message_size(options)};
  comm::PermutationSearch search;
  if (options.count("seed") != 0)
    search.seed = static_cast<std::uint64_t>(whole_number(options, "seed", 0));
  if (options.count("swaps") != 0)
    search.swaps = static_cast<std::uint64_t>(whole_number(options, "swaps", 1));

  const cluster::Cluster cluster = load_cluster(options, "matrix");
  report.cluster = cluster.name();
  comm::Paths paths(cluster, chosen_hosts(cluster, options));
  const bool needs_all_pairs = nodes || std::ranges::any_of(outputs, [](const Output& output) {
                                 return output.kind != OutputKind::json;
                               });
  if (needs_all_pairs && std::uint64_t{paths.size()} * paths.size() > comm::max_complete_pairs)
    throw UsageError(fmt::format("{} GPUs have {} pairs, which is too many for a complete matrix",
                                 paths.size(), std::uint64_t{paths.size()} * (paths.size() - 1)))
        .suggest("limit them with --gpus 2000");
  watch_for_interrupts();
  {
    ProgressBar bar("pairs", true);
    comm::Pairs pairs = comm::analyze_pairs(paths, bar_progress(bar, "of GPUs"));
    ProgressBar search_bar("permutations", true);
    search.progress = bar_progress(search_bar, "search for the worst");
    report.contention = comm::find_contention(paths, pairs, search);
    report.by_gpu = std::move(pairs.matrix);
  }
  report.matrix = nodes ? analysis::by_node(report.by_gpu) : report.by_gpu;
  fmt::print("{}", analysis::matrix_text(report));
  for (const Output& output : outputs) {
    write_matrix(output, report);
    fmt::print("wrote   {}\n", output.file.string());
  }
  return exit_ok;
}

}  // namespace pipewright::cli
