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
  add("gpus", po::value<int>()->value_name("N"), "the first N GPUs of the cluster (all)");
  add("hosts", words("GPU.."), "or these, in this order");
  add("by", po::value<std::string>()->value_name("gpu|node"),
      "rows of the matrix (gpu); a node is as its worst pair");
  add("size", po::value<std::string>()->value_name("BYTES"),
      "bandwidth of messages so large, which wait for the latency");
  add("seed", po::value<int>()->value_name("N"), "of the search for the worst permutation (1)");
  add("swaps", po::value<int>()->value_name("N"),
      "that this search tries (1,000 to 20,000, by the number of GPUs)");
  add("output,o", words("FILE.."), "heat map (.svg, .png, .pdf), or all figures (.json, .csv)");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright comm matrix --cluster FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "What every pair of GPUs has between them when nobody else sends: the bandwidth of the\n"
      "narrowest link on the way, and the latency. Then all GPUs at once: the bisection, and the\n"
      "permutation (every GPU sends to one other and receives from one) with the lowest total\n"
      "rate that is found, under max-min fair sharing.\n"
      "\n"
      "  pipewright comm matrix --cluster dgx-a100\n"
      "  pipewright comm matrix --cluster dgx-h100-hdr200 --gpus 64 -o pairs.svg\n"
      "  pipewright comm matrix --cluster dgx-1-v100 --by node --size 1M\n"
      "  pipewright comm matrix --cluster dgx-a100 --hosts node-0-gpu-0 node-1-gpu-0 node-2-gpu-1\n"
      "\n{}",
      describe(matrix_options()));
  return exit_ok;
}

int whole(const po::variables_map& given, const std::string& option, int least) {
  const int value = given[option].as<int>();
  if (value < least)
    throw UsageError(fmt::format("--{} {}: a whole number, {} or more", option, value, least));
  return value;
}

std::vector<cluster::Host*> chosen_hosts(const cluster::Cluster& cluster,
                                         const po::variables_map& given) {
  const std::vector<std::string> names = values(given, "hosts");
  if (!names.empty() && given.count("gpus") != 0)
    throw UsageError("--gpus takes the first, --hosts the named ones; not both");
  auto count = static_cast<std::uint32_t>(names.empty() ? cluster.gpus().size() : names.size());
  if (given.count("gpus") != 0) count = static_cast<std::uint32_t>(whole(given, "gpus", 2));
  if (count < 2) throw UsageError("a pair takes two GPUs");
  return cluster.place(names, count);
}

bool by_nodes(const po::variables_map& given) {
  const std::string word = given.count("by") != 0 ? given["by"].as<std::string>() : "gpu";
  if (word != "gpu" && word != "node")
    throw UsageError(fmt::format("--by '{}': gpu or node", word));
  return word == "node";
}

std::uint64_t message_size(const po::variables_map& given) {
  if (given.count("size") == 0) return 0;
  const auto sizes = parse_sizes(given["size"].as<std::string>(), "--size");
  if (sizes.size() != 1) throw UsageError("--size takes one size, as in 1M");
  return sizes.front();
}

std::vector<Output> outputs_of(const po::variables_map& given) {
  std::vector<std::filesystem::path> files;
  for (const std::string& file : values(given, "output")) files.emplace_back(file);
  check_files({}, files);
  std::vector<Output> outputs = parse_outputs(files);
  for (const Output& output : outputs)
    if (output.kind == OutputKind::html)
      throw UsageError(fmt::format("{}: a matrix is written as .svg, .png, .pdf, .json or .csv",
                                   output.file.string()));
  return outputs;
}

void write(const Output& output, const analysis::MatrixReport& report) {
  const auto draw = [&](analysis::PictureKind kind) {
    const analysis::HeatMapWords words{
        .title = report.cluster,
        .details = fmt::format("{} GPUs, each pair alone on the network", report.by_gpu.size())};
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

// A bar that also notices interrupts.
auto progress_of(ProgressBar& bar, const std::string& details) {
  return [&bar, details](double share) {
    throw_if_interrupted();
    if (bar.is_due()) bar.draw(share, details);
  };
}

}  // namespace

int comm_matrix(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, matrix_options(), "extra");
  if (given.count("help") != 0) return print_help();
  if (given.count("extra") != 0)
    throw UsageError(
        fmt::format("comm matrix: '{}' belongs to no option", values(given, "extra").front()));
  const bool nodes = by_nodes(given);
  const std::vector<Output> outputs = outputs_of(given);
  analysis::MatrixReport report{.message = message_size(given)};
  comm::PermutationSearch search;
  if (given.count("seed") != 0) search.seed = static_cast<std::uint64_t>(whole(given, "seed", 0));
  if (given.count("swaps") != 0)
    search.swaps = static_cast<std::uint64_t>(whole(given, "swaps", 1));

  const cluster::Cluster cluster = load_cluster(given, "matrix");
  report.cluster = cluster.name();
  comm::Paths paths(cluster, chosen_hosts(cluster, given));
  const bool needs_all = nodes || std::ranges::any_of(outputs, [](const Output& output) {
                           return output.kind != OutputKind::json;
                         });
  if (needs_all && std::uint64_t{paths.size()} * paths.size() > comm::most_pairs)
    throw UsageError(fmt::format(
        "{} GPUs have {} pairs, more than are looked at one by one; --gpus 2000 takes the first",
        paths.size(), std::uint64_t{paths.size()} * (paths.size() - 1)));
  watch_for_interrupts();
  {
    ProgressBar bar("pairs", true);
    comm::Pairs pairs = comm::look_at_pairs(paths, progress_of(bar, "of GPUs"));
    ProgressBar second("permutations", true);
    search.progress = progress_of(second, "of the search for the worst");
    report.contention = comm::find_contention(paths, pairs, search);
    report.by_gpu = std::move(pairs.matrix);
  }
  report.matrix = nodes ? analysis::by_node(report.by_gpu) : report.by_gpu;
  fmt::print("{}", analysis::matrix_text(report));
  for (const Output& output : outputs) {
    write(output, report);
    fmt::print("wrote   {}\n", output.file.string());
  }
  return exit_ok;
}

}  // namespace pipewright::cli
