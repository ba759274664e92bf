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
#include "sim/comm/accuracy_records.hpp"
#include "sim/comm/byte_matrix.hpp"

namespace pipewright::cli {
namespace {

using analysis::BenchReport;
using analysis::Operation;

po::options_description bench_options() {
  po::options_description options("options of 'bench'", 100);
  const auto word = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto number = [](const char* name) { return po::value<int>()->value_name(name); };
  auto add = options.add_options();
  add_cluster_option(options);
  add_failure_options(options);
  add("op", word("OP"), "operation to predict, from the list below (all-reduce)");
  add("ranks", number("N"),
      "number of GPUs, the first ones (all); with --concurrent, number of GPUs per group");
  add("sizes", word("SIZES"), "sizes: 8:8G:2 (from, to, factor), 1M:64M:+1M or 4K,1M,1G (8:8G:2)");
  add("matrix", word("FILE"), "byte matrix of an all-to-all, one row per sender: .csv or .json");
  add_algorithm_option(options);
  add("concurrent", number("GROUPS"), "number of groups that run at the same time (1)");
  add("strided", "make groups of every N-th GPU (N from --concurrent), like data-parallel ranks");
  add("assume", word("BW"),
      "mark sizes whose bus bandwidth is within 10 % of this one, such as '180 GB/s'");
  add("output,o",
      po::value<std::vector<std::string>>()->multitoken()->composing()->value_name("FILE.."),
      "write .html (page), .csv, .json, or .log (in the format of nccl-tests)");
  add("json", "print the table as JSON and nothing else");
  add("help,h", "print this help");
  return options;
}

int print_bench_help() {
  fmt::print(
      "usage: pipewright comm bench --cluster FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "Predicts the table that nccl-tests prints on a cluster, by a flow-level simulation. The\n"
      "last column is a contention-free formula (steps x latency + bytes / bandwidth of a GPU's\n"
      "links): where the simulation takes longer, links are shared or narrow.\n"
      "\n"
      "  pipewright comm bench --cluster dgx-a100 --op all-reduce --ranks 16\n"
      "  pipewright comm bench --cluster dgx-h100 --op all-to-all --sizes 1M:1G:4\n"
      "  pipewright comm bench --cluster dgx-h100 --op all-to-all --matrix tokens.csv\n"
      "  pipewright comm bench --cluster thin.xml --ranks 4 --concurrent 8 --strided\n"
      "  pipewright comm bench --cluster dgx-h100 --ranks 8 --algorithm ring    # without NVLS\n"
      "  pipewright comm bench --cluster dgx-a100 --ranks 16 --assume '180 GB/s'\n"
      "\n"
      "--matrix m.csv describes an all-to-all-v in bytes: one row per sender, one cell per\n"
      "receiver; m.json contains a list of lists. \"size\" is then the largest sum of a row,\n"
      "including the diagonal, which stays on the rank. --sizes scales all cells by the same\n"
      "factor; the default is the size of the file. busbw is the data that the busiest rank\n"
      "sends to or receives from others, divided by the time.\n"
      "\n"
      "{}\n"
      "operations:\n",
      describe(bench_options()));
  for (const analysis::OperationInfo& info : analysis::operation_list())
    fmt::print("  {:<15} {}\n", info.name, info.help);
  return exit_ok;
}

std::uint32_t count_option(const po::variables_map& options, const char* option,
                           std::uint32_t default_value) {
  if (options.count(option) == 0) return default_value;
  const int number = options[option].as<int>();
  if (number < 1) throw UsageError(fmt::format("--{} {}: must be at least 1", option, number));
  return static_cast<std::uint32_t>(number);
}

Operation parse_op(const po::variables_map& options) {
  const bool has_matrix = options.count("matrix") != 0;
  if (options.count("op") == 0) return has_matrix ? Operation::all_to_all : Operation::all_reduce;
  const auto& text = options["op"].as<std::string>();
  const Operation operation =
      parse_operation_name(text, fmt::format("--op '{}'", analysis::printable(text)));
  if (has_matrix && operation != Operation::all_to_all)
    throw UsageError(fmt::format("--matrix needs --op all-to-all, not {}", text));
  return operation;
}

std::optional<comm::ByteMatrix> read_matrix(const po::variables_map& options) {
  if (options.count("matrix") == 0) return std::nullopt;
  const auto& file = options["matrix"].as<std::string>();
  if (!file.ends_with(".csv") && !file.ends_with(".json"))
    throw UsageError(fmt::format("--matrix '{}': the file name must end in .csv or .json",
                                 analysis::printable(file)));
  return comm::read_byte_matrix(file);
}

std::vector<std::uint64_t> sizes_of(const po::variables_map& options,
                                    const std::optional<comm::ByteMatrix>& matrix) {
  if (matrix && options.count("sizes") == 0) return {matrix->max_row_bytes()};
  return parse_sizes(options.count("sizes") != 0 ? options["sizes"].as<std::string>() : "8:8G:2",
                     "--sizes");
}

std::uint32_t ranks_of(const po::variables_map& options,
                       const std::optional<comm::ByteMatrix>& matrix, std::uint32_t default_value) {
  const std::uint32_t ranks =
      count_option(options, "ranks", matrix ? matrix->ranks : default_value);
  if (matrix && matrix->ranks != ranks)
    throw UsageError(
        fmt::format("--ranks {}: {} has {} ranks", ranks, matrix->name, matrix->ranks));
  return ranks;
}

std::vector<std::filesystem::path> output_files(const po::variables_map& options) {
  const std::vector<std::string> words = values(options, "output");
  std::vector<std::filesystem::path> files(words.begin(), words.end());
  for (const std::filesystem::path& file : files)
    if (file.extension() != ".csv" && file.extension() != ".json" && file.extension() != ".log" &&
        file.extension() != ".html")
      throw UsageError(fmt::format("-o '{}': the file name must end in .html, .csv, .json or .log",
                                   file.string()));
  std::vector<std::filesystem::path> read;
  if (options.count("matrix") != 0) read.emplace_back(options["matrix"].as<std::string>());
  check_files(read, files);
  return files;
}

// Rejects switch algorithms that the run cannot use, because it would silently fall back to a ring.
void check_switches(const comm::BenchmarkRun& run) {
  const auto switches = config::switches_of(run.algorithm);
  if (!switches || comm::uses_algorithm(run, run.algorithm)) return;
  throw UsageError(
      fmt::format("--algorithm {}: {} over these ranks cannot use switches {} nodes; needed are an "
                  "all-reduce, the same number of ranks on each node, and a platform file with "
                  "property CLASS.sharp-efficiency",
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

void mark_untested(const cluster::Cluster& cluster, BenchReport& report) {
  report.has_record = !cluster.records().empty();
  if (!report.has_record) return;
  const std::string_view operation = analysis::to_string(report.operation);
  report.tried = comm::accuracy_text(cluster.records(), operation, report.nodes);
  for (analysis::BenchRow& row : report.rows)
    row.untried = report.groups > 1 ||
                  !covers(cluster.records(), operation, report.ranks(), report.nodes, row.bytes);
}

void write_bench(const std::filesystem::path& file, const BenchReport& report) {
  if (file.extension() == ".html") return analysis::write_bench_page(file, report);
  trace::write_file(file, file.extension() == ".csv"    ? bench_csv(report)
                          : file.extension() == ".json" ? bench_json(report)
                                                        : bench_log(report));
}

}  // namespace

int comm_bench(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, bench_options(), "word");
  if (options.count("help") != 0) return print_bench_help();
  if (options.count("word") != 0)
    throw UsageError(fmt::format("comm bench takes options alone, not '{}'; options begin with --",
                                 values(options, "word").front()));
  const Operation operation = parse_op(options);
  const std::optional<comm::ByteMatrix> matrix = read_matrix(options);
  const std::vector<std::uint64_t> sizes = sizes_of(options, matrix);
  const config::Algorithm algorithm = options.count("algorithm") != 0
                                          ? parse_algorithm(options["algorithm"].as<std::string>())
                                          : config::Algorithm::automatic;
  const std::vector<std::filesystem::path> files = output_files(options);
  std::optional<double> assumed;
  if (options.count("assume") != 0) assumed = parse_bandwidth(options["assume"].as<std::string>());
  const std::uint32_t groups = count_option(options, "concurrent", 1);

  cluster::Cluster cluster = load_cluster(options, "bench");
  const auto gpus = static_cast<std::uint32_t>(cluster.gpus().size());
  const std::uint32_t ranks = ranks_of(options, matrix, std::max(gpus / groups, 1U));
  comm::BenchmarkRun run = comm::make_groups(cluster, operation, ranks, groups,
                                             options.count("strided") != 0, algorithm);
  if (matrix) run.parts = matrix->parts();
  check_switches(run);
  BenchReport report = describe_bench(cluster, run);
  if (matrix) {
    report.matrix = matrix->name;
    report.busiest = comm::busiest_rank(*matrix);
  }
  report.assumed = assumed;
  watch_for_interrupts();
  ProgressBar bar("comm bench", options.count("json") == 0);
  report.rows = comm::bench(cluster, run, sizes, [&](std::size_t done) {
    throw_if_interrupted();
    if (bar.is_due())
      bar.draw(static_cast<double>(done) / static_cast<double>(sizes.size()),
               fmt::format("{} of {} sizes", done, sizes.size()));
  });
  mark_untested(cluster, report);
  for (const std::filesystem::path& file : files) write_bench(file, report);
  fmt::print("{}", options.count("json") != 0 ? bench_json(report) : bench_text(report));
  return exit_ok;
}

}  // namespace pipewright::cli
