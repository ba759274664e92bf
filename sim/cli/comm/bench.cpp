#include "sim/comm/bench.hpp"

#include <optional>
#include <set>

#include <fmt/format.h>

#include "analysis/commlogs/reports/bench_report.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/comm/bench_page.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/comm/byte_matrix.hpp"
#include "sim/comm/tried.hpp"

namespace pipewright::cli {
namespace {

using analysis::BenchReport;
using analysis::Operation;

po::options_description bench_options() {
  po::options_description options("options of 'bench'", 100);
  const auto word = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto count = [](const char* name) { return po::value<int>()->value_name(name); };
  auto add = options.add_options();
  add_cluster_option(options);
  add_failure_options(options);
  add("op", word("OP"), "the operation (all-reduce); see below");
  add("ranks", count("N"), "GPUs that take part, from the first on (all; of each group)");
  add("sizes", word("SIZES"), "8:8G:2 (from, to, times), 1M:64M:+1M, or 4K,1M,1G (8:8G:2)");
  add("matrix", word("FILE"), "of an all-to-all: bytes that each rank has for each, .csv or .json");
  add_algorithm_option(options);
  add("concurrent", count("GROUPS"), "so many groups do the same at once (1)");
  add("strided", "with --concurrent 8, a group is every eighth GPU: data parallel ranks");
  add("assume", word("BW"), "say where a flat bus bandwidth holds: '180 GB/s'");
  add("output,o",
      po::value<std::vector<std::string>>()->multitoken()->composing()->value_name("FILE.."),
      "write .html (page), .csv, .json, or .log as nccl-tests prints it");
  add("json", "print the table as JSON and nothing else");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright comm bench --cluster FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "The table that nccl-tests would print on a cluster, in its conventions, simulated as "
      "flows.\n"
      "Beside it what a formula says (steps x latency + bytes / bandwidth of a GPU's own links): "
      "where\nthe simulation takes longer, links are shared or narrow on the way.\n"
      "\n"
      "  pipewright comm bench --cluster dgx-a100 --op all-reduce --ranks 16\n"
      "  pipewright comm bench --cluster dgx-h100 --op all-to-all --sizes 1M:1G:4\n"
      "  pipewright comm bench --cluster dgx-h100 --op all-to-all --matrix tokens.csv\n"
      "  pipewright comm bench --cluster thin.xml --ranks 4 --concurrent 8 --strided\n"
      "  pipewright comm bench --cluster dgx-h100 --ranks 8 --algorithm ring    # without NVLS\n"
      "  pipewright comm bench --cluster dgx-a100 --ranks 16 --assume '180 GB/s'\n"
      "\n"
      "--matrix m.csv is an all-to-all-v: a row for each rank that sends, with a cell for each "
      "that\n"
      "receives, in bytes; m.json has a list of such lists. \"size\" is then what the rank with "
      "most\n"
      "has in its row, what it keeps for itself (the diagonal) included, as an all-to-all's size "
      "is;\nwithout --sizes that of the file. Other --sizes make all cells larger or smaller "
      "alike.\n"
      "Its busbw is what the busiest rank sends to others, or receives from them, over the time.\n"
      "\n{}\noperations:\n",
      describe(bench_options()));
  for (const analysis::OperationInfo& info : analysis::operation_list())
    fmt::print("  {:<15} {}\n", info.name, info.help);
  return exit_ok;
}

std::uint32_t count(const po::variables_map& given, const char* option, std::uint32_t otherwise) {
  if (given.count(option) == 0) return otherwise;
  const int number = given[option].as<int>();
  if (number < 1) throw UsageError(fmt::format("--{} {}: 1 or more", option, number));
  return static_cast<std::uint32_t>(number);
}

Operation parse_op(const po::variables_map& given) {
  const bool has_matrix = given.count("matrix") != 0;
  if (given.count("op") == 0) return has_matrix ? Operation::all_to_all : Operation::all_reduce;
  const auto& text = given["op"].as<std::string>();
  if (const auto operation = analysis::parse_operation(text)) {
    if (has_matrix && *operation != Operation::all_to_all)
      throw UsageError(fmt::format("--matrix is of an all-to-all, not of --op {}", text));
    return *operation;
  }
  std::string names;
  for (const analysis::OperationInfo& info : analysis::operation_list())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  throw UsageError(fmt::format("--op '{}': there are {}", text, names));
}

std::optional<comm::ByteMatrix> read_matrix(const po::variables_map& given) {
  if (given.count("matrix") == 0) return std::nullopt;
  const auto& file = given["matrix"].as<std::string>();
  if (!file.ends_with(".csv") && !file.ends_with(".json"))
    throw UsageError(
        fmt::format("--matrix '{}': a name that ends in .csv or .json", analysis::printable(file)));
  return comm::read_byte_matrix(file);
}

std::vector<std::uint64_t> sizes_of(const po::variables_map& given,
                                    const std::optional<comm::ByteMatrix>& matrix) {
  if (matrix && given.count("sizes") == 0) return {matrix->most_in_row()};
  return parse_sizes(given.count("sizes") != 0 ? given["sizes"].as<std::string>() : "8:8G:2",
                     "--sizes");
}

std::uint32_t ranks_of(const po::variables_map& given,
                       const std::optional<comm::ByteMatrix>& matrix, std::uint32_t otherwise) {
  const std::uint32_t ranks = count(given, "ranks", matrix ? matrix->ranks : otherwise);
  if (matrix && matrix->ranks != ranks)
    throw UsageError(
        fmt::format("--ranks {}: {} is of {} ranks", ranks, matrix->name, matrix->ranks));
  return ranks;
}

std::vector<std::filesystem::path> output_files(const po::variables_map& given) {
  const std::vector<std::string> words = values(given, "output");
  std::vector<std::filesystem::path> files(words.begin(), words.end());
  for (const std::filesystem::path& file : files)
    if (file.extension() != ".csv" && file.extension() != ".json" && file.extension() != ".log" &&
        file.extension() != ".html")
      throw UsageError(
          fmt::format("-o '{}': a name that ends in .html, .csv, .json or .log", file.string()));
  std::vector<std::filesystem::path> read;
  if (given.count("matrix") != 0) read.emplace_back(given["matrix"].as<std::string>());
  check_files(read, files);
  return files;
}

// Switches that cannot add up would quietly give way to a ring.
void check_switches(const comm::BenchmarkRun& run) {
  const auto switches = config::switches_of(run.algorithm);
  if (!switches || comm::takes(run, run.algorithm)) return;
  throw UsageError(fmt::format(
      "--algorithm {}: {} over these ranks cannot be left to switches {} nodes: it takes an "
      "all-reduce, equally many ranks on each node, and a platform file that says what the "
      "switches do (property CLASS.sharp-efficiency)",
      config::to_string(run.algorithm), analysis::to_string(run.operation), *switches));
}

BenchReport describe_bench(const cluster::Cluster& cluster, const comm::BenchmarkRun& run) {
  BenchReport report{.cluster = cluster.name(),
                     .operation = run.operation,
                     .groups = static_cast<std::uint32_t>(run.groups.size())};
  std::set<std::uint32_t> nodes;
  for (const std::uint32_t rank : run.groups.front()) {
    report.gpus.push_back(cluster::name_of(run.placement.host(rank)));
    report.node_of.push_back(run.placement.node(rank));
    nodes.insert(report.node_of.back());
  }
  report.nodes = static_cast<std::uint32_t>(nodes.size());
  return report;
}

void mark_untried(const cluster::Cluster& cluster, BenchReport& report) {
  report.has_record = !cluster.records().empty();
  if (!report.has_record) return;
  const std::string_view operation = analysis::to_string(report.operation);
  report.tried = comm::tried_text(cluster.records(), operation, report.nodes);
  for (analysis::BenchRow& row : report.rows)
    row.untried = report.groups > 1 ||
                  !covers(cluster.records(), operation, report.ranks(), report.nodes, row.bytes);
}

void write(const std::filesystem::path& file, const BenchReport& report) {
  if (file.extension() == ".html") return analysis::write_bench_page(file, report);
  trace::write_file(file, file.extension() == ".csv"    ? bench_csv(report)
                          : file.extension() == ".json" ? bench_json(report)
                                                        : bench_log(report));
}

}  // namespace

int comm_bench(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, bench_options(), "word");
  if (given.count("help") != 0) return print_help();
  if (given.count("word") != 0)
    throw UsageError(fmt::format("comm bench: what is '{}'? Options begin with --",
                                 values(given, "word").front()));
  const Operation operation = parse_op(given);
  const std::optional<comm::ByteMatrix> matrix = read_matrix(given);
  const std::vector<std::uint64_t> sizes = sizes_of(given, matrix);
  const config::Algorithm algorithm = given.count("algorithm") != 0
                                          ? parse_algorithm(given["algorithm"].as<std::string>())
                                          : config::Algorithm::automatic;
  const std::vector<std::filesystem::path> files = output_files(given);
  std::optional<double> assumed;
  if (given.count("assume") != 0) assumed = parse_bandwidth(given["assume"].as<std::string>());
  const std::uint32_t groups = count(given, "concurrent", 1);

  cluster::Cluster cluster = load_cluster(given, "bench");
  const auto gpus = static_cast<std::uint32_t>(cluster.gpus().size());
  const std::uint32_t ranks = ranks_of(given, matrix, std::max(gpus / groups, 1U));
  comm::BenchmarkRun run = comm::several_groups(cluster, operation, ranks, groups,
                                                given.count("strided") != 0, algorithm);
  if (matrix) run.parts = matrix->parts();
  check_switches(run);
  BenchReport report = describe_bench(cluster, run);
  if (matrix) {
    report.matrix = matrix->name;
    report.busiest = comm::busiest_rank(*matrix);
  }
  report.assumed = assumed;
  watch_for_interrupts();
  ProgressBar bar("comm bench", given.count("json") == 0);
  report.rows = comm::bench(cluster, run, sizes, [&](std::size_t done) {
    throw_if_interrupted();
    if (bar.is_due())
      bar.draw(static_cast<double>(done) / static_cast<double>(sizes.size()),
               fmt::format("{} of {} sizes", done, sizes.size()));
  });
  mark_untried(cluster, report);
  for (const std::filesystem::path& file : files) write(file, report);
  fmt::print("{}", given.count("json") != 0 ? bench_json(report) : bench_text(report));
  return exit_ok;
}

}  // namespace pipewright::cli
