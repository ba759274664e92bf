#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "analysis/commlogs/pictures/curve_picture.hpp"
#include "analysis/commlogs/reports/compare_report.hpp"
#include "analysis/commlogs/reports/compare_tables.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/web/comm/compare_page.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/comm/fitted_file.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/comm/tried.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cli {
namespace {

using analysis::CompareReport;
using analysis::CurveAxis;
using config::Algorithm;

struct Request {
  Algorithm algorithm = Algorithm::automatic;
  std::vector<Output> outputs;
  CurveAxis axis = CurveAxis::time;
  std::optional<double> assumed;    // bus bandwidth, bytes/s
  std::optional<double> max_error;  // a ratio
  std::optional<std::filesystem::path> record;
  bool json = false;
  bool all_rows = false;
};

po::options_description compare_options() {
  po::options_description options("options of 'compare'", 100);
  const auto word = [](const char* name) { return po::value<std::string>()->value_name(name); };
  auto add = options.add_options();
  add_cluster_option(options);
  add_failure_options(options);
  add("output,o",
      po::value<std::vector<std::string>>()->multitoken()->composing()->value_name("FILE.."),
      "what to write: .svg, .png, .pdf (curves), .html (page), .csv, .json (every row)");
  add("y", word("WHAT"), "what the curves show: time (as it is without this) or busbw");
  add("assume", word("BW"), "say where a flat bus bandwidth is off by more than 10 %: '180 GB/s'");
  add("max-error", word("PERCENT"), "exit with status 1 if the median error is above: 20%");
  add("record", word("OUT.xml"),
      "write the cluster's file with the errors found as its record, for bench and run to go by");
  add("record-source", word("TEXT"), "what the record names as its source (the logs)");
  add("record-fitted", "the file was fitted to these logs; else they count as held out");
  add("in-place", "rows measured in place and no others");
  add("out-of-place", "the others and no rows measured in place");
  add_algorithm_option(options);
  add_log_options(options);
  add("all-rows", "print every row, of whatever long logs");
  add("json", "print the comparison as JSON and nothing else");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright comm compare LOG.. --cluster FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "Reads what nccl-tests (all_reduce_perf and its kin) or the OSU micro-benchmarks printed, "
      "with\n"
      "whatever stands around their tables, predicts every row on a cluster, and prints both and\n"
      "the errors: predicted over measured time, less 1.\n"
      "\n"
      "  pipewright comm compare all_reduce_16.log --cluster dgx-a100\n"
      "  pipewright comm compare *.log --cluster mine.xml -o curves.svg page.html\n"
      "  pipewright comm compare all_reduce_16.log --cluster dgx-a100 --y busbw -o busbw.png\n"
      "  pipewright comm compare all_reduce_16.log --cluster dgx-a100 --assume '180 GB/s'\n"
      "  pipewright comm compare *.log --cluster fitted.xml --max-error 20%   # for CI\n"
      "  pipewright comm compare *.log --cluster dgx-a100 --record recorded.xml\n"
      "\n"
      "Ranks are on the first GPUs of the cluster: whole nodes one after the other, or evenly "
      "over\n"
      "as many nodes as the log or --nodes says.\n\n{}",
      describe(compare_options()));
  return exit_ok;
}

std::optional<std::string> word(const po::variables_map& given, const char* option) {
  if (given.count(option) == 0) return std::nullopt;
  return given[option].as<std::string>();
}

CurveAxis parse_axis(const std::string& text) {
  if (text == "time") return CurveAxis::time;
  if (text == "busbw") return CurveAxis::bus_bandwidth;
  throw UsageError(fmt::format("--y '{}': time or busbw", text));
}

std::filesystem::path record_file(const po::variables_map& given, const std::string& text) {
  if (!text.ends_with(".xml"))
    throw UsageError(fmt::format("--record {}: a platform file ends in .xml", text));
  if (given.count("algorithm") != 0)
    throw UsageError("--record is of what is predicted without --algorithm");
  std::vector<std::filesystem::path> written{text};
  for (const std::string& output : values(given, "output")) written.emplace_back(output);
  check_files(log_files(given, "compare"), written);
  const trace::PartialFile can_be_written(text);  // told before the work, not after it
  return text;
}

Request read_request(const po::variables_map& given) {
  Request request{.json = given.count("json") != 0, .all_rows = given.count("all-rows") != 0};
  if (const auto text = word(given, "algorithm")) request.algorithm = parse_algorithm(*text);
  if (const auto text = word(given, "y")) request.axis = parse_axis(*text);
  if (const auto text = word(given, "assume")) request.assumed = parse_bandwidth(*text);
  if (const auto text = word(given, "max-error"))
    request.max_error = config::parse_share(*text, "--max-error", "a median error such as 20%");
  if (given.count("in-place") != 0 && given.count("out-of-place") != 0)
    throw UsageError("--in-place and --out-of-place leave no rows; give one of them, or none");
  const std::vector<std::string> words = values(given, "output");
  const std::vector<std::filesystem::path> files(words.begin(), words.end());
  request.outputs = parse_outputs(files);
  check_files(log_files(given, "compare"), files);
  if (const auto text = word(given, "record")) request.record = record_file(given, *text);
  for (const char* const option : {"record-source", "record-fitted"})
    if (!request.record && given.count(option) != 0)
      throw UsageError(fmt::format("--{} goes with --record OUT.xml", option));
  return request;
}

void keep_asked_for(const po::variables_map& given, std::vector<analysis::Measurement>& rows) {
  const bool in_place = given.count("in-place") != 0;
  if (!in_place && given.count("out-of-place") == 0) return;
  std::erase_if(rows, [&](const analysis::Measurement& row) { return row.in_place != in_place; });
  if (rows.empty())
    throw UsageError(fmt::format("comm compare: the logs have no rows measured {}",
                                 in_place ? "in place" : "out of place"));
}

std::vector<analysis::DrawnCurve> drawn(const cluster::Cluster& cluster,
                                        const CompareReport& report, Algorithm algorithm) {
  std::vector<analysis::DrawnCurve> curves;
  for (const analysis::CurveReport& one : report.curves)
    curves.push_back({one.curve, comm::predict_between(cluster, one.curve, algorithm)});
  return curves;
}

void write(const Output& output, const CompareReport& report,
           std::span<const analysis::DrawnCurve> curves, const Request& request) {
  const analysis::CurveWords words{"Measured and predicted",
                                   fmt::format("{}, median error {}", report.cluster,
                                               analysis::format_percent(report.errors.median))};
  const auto draw = [&](analysis::PictureKind kind) {
    analysis::draw_curves(curves, words, request.axis, output.file, kind);
  };
  switch (output.kind) {
    case OutputKind::html:
      return analysis::write_compare_page(output.file, report, curves, words);
    case OutputKind::svg:
      return draw(analysis::PictureKind::svg);
    case OutputKind::png:
      return draw(analysis::PictureKind::png);
    case OutputKind::pdf:
      return draw(analysis::PictureKind::pdf);
    case OutputKind::json:
      return trace::write_file(output.file, json_text(report));
    case OutputKind::csv:
      return trace::write_file(output.file, csv_text(report));
  }
}

void write_record(const cluster::Cluster& cluster, std::span<const analysis::ComparedRow> rows,
                  const po::variables_map& given, const std::filesystem::path& file) {
  const std::string source = word(given, "record-source").value_or(comm::source_of(rows));
  const auto records = comm::records_of(cluster, rows, given.count("record-fitted") == 0, source);
  trace::write_file(file,
                    comm::with_records(cluster.text(), comm::merged(cluster.records(), records)));
}

// Where predictions err to one side, the cluster's numbers can be mended.
std::string advice(const CompareReport& report, const po::variables_map& given) {
  if (report.one_sided.empty()) return "";
  const std::vector<std::string> logs = values(given, "log");
  return fmt::format(
      "numbers that fit these logs: pipewright comm fit {} --cluster {} -o fitted.xml\n",
      logs.size() == 1 ? analysis::printable(logs.front()) : "LOG..",
      analysis::printable(values(given, "cluster").front()));
}

// What the file's own record says of the operations that are compared.
std::string record_text(const cluster::Cluster& cluster, const CompareReport& report) {
  std::string text;
  std::set<std::string> said;
  for (const analysis::CurveReport& one : report.curves) {
    const analysis::Measurement& row = one.curve.rows.front().measured;
    const std::string tried =
        comm::tried_text(cluster.records(), to_string(row.operation), comm::nodes_of(cluster, row));
    if (!tried.empty() && said.insert(tried).second)
      text += fmt::format("the file was {}\n", tried);
  }
  return text;
}

}  // namespace

int comm_compare(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, compare_options(), "log");
  if (given.count("help") != 0) return print_help();
  const Request request = read_request(given);
  analysis::MeasurementLog log = read_given_logs(given, "compare");
  keep_asked_for(given, log.rows);
  cluster::Cluster cluster = load_cluster(given, "compare");

  watch_for_interrupts();
  std::vector<analysis::ComparedRow> rows;
  {
    ProgressBar bar("simulating", true);
    rows = comm::predict_rows(cluster, log.rows, request.algorithm,
                              [&](std::size_t done, std::size_t of) {
                                throw_if_interrupted();
                                if (bar.is_due())
                                  bar.draw(static_cast<double>(done) / static_cast<double>(of),
                                           fmt::format("{} of {} rows", done, of));
                              });
  }
  const CompareReport report =
      analysis::compare_report(cluster.name(), rows, request.assumed, std::move(log.remarks));
  std::vector<analysis::DrawnCurve> curves;
  if (std::ranges::any_of(request.outputs, [](const Output& output) {
        return is_picture(output) || output.kind == OutputKind::html;
      }))
    curves = drawn(cluster, report, request.algorithm);
  for (const Output& output : request.outputs) write(output, report, curves, request);
  if (request.record) write_record(cluster, rows, given, *request.record);

  if (request.json) {
    fmt::print("{}", json_text(report));
  } else {
    fmt::print("{}{}{}", console_text(report, request.all_rows), record_text(cluster, report),
               advice(report, given));
    for (const Output& output : request.outputs) fmt::print("wrote   {}\n", output.file.string());
    if (request.record) fmt::print("wrote   {}\n", request.record->string());
  }
  if (!request.max_error || report.errors.median <= *request.max_error) return exit_ok;
  fmt::print(stderr, "the median error is {}, above --max-error {}\n",
             analysis::format_percent(report.errors.median),
             analysis::format_percent(*request.max_error));
  return exit_findings;
}

}  // namespace pipewright::cli
