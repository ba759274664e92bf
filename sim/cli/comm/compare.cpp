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
#include "sim/comm/accuracy_records.hpp"
#include "sim/comm/fitted_file.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cli {
namespace {

using analysis::CompareReport;
using analysis::CurveAxis;
using config::Algorithm;

struct CommCompareRequest {
  Algorithm algorithm = Algorithm::automatic;
  std::vector<Output> outputs;
  CurveAxis axis = CurveAxis::time;
  std::optional<double> assumed;    // bus bandwidth in bytes/s
  std::optional<double> max_error;  // as a ratio
  std::optional<std::filesystem::path> record;
  bool json = false;
  bool all_rows = false;
};

po::options_description comm_compare_options() {
  po::options_description options("options of 'compare'", 100);
  const auto text_value = [](const char* name) {
    return po::value<std::string>()->value_name(name);
  };
  auto add = options.add_options();
  add_cluster_option(options);
  add_failure_options(options);
  add("output,o",
      po::value<std::vector<std::string>>()->multitoken()->composing()->value_name("FILE.."),
      "write .svg, .png, .pdf (curves), .html (page), .csv, .json (all rows)");
  add("y", text_value("WHAT"), "vertical axis of the curves: time or busbw (time)");
  add("assume", text_value("BW"),
      "mark sizes whose bus bandwidth differs by more than 10 % from this one, such as '180 GB/s'");
  add("max-error", text_value("PERCENT"),
      "exit with status 1 if the median error exceeds this limit, such as 20%");
  add("record", text_value("OUT.xml"),
      "write the cluster file with the errors as its accuracy record, which bench and run report");
  add("record-source", text_value("TEXT"), "origin of the measurements, for the record (the logs)");
  add("record-fitted", "record that the cluster was fitted to these logs (not fitted)");
  add("in-place", "use only rows measured in place");
  add("out-of-place", "use only rows measured out of place");
  add_algorithm_option(options);
  add_log_options(options);
  add("all-rows", "print all rows, even of long logs");
  add("json", "print the comparison as JSON and nothing else");
  add("help,h", "print this help");
  return options;
}

int print_comm_compare_help() {
  fmt::print(
      "usage: pipewright comm compare LOG.. --cluster FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "Reads the output of nccl-tests (all_reduce_perf, ..) or the OSU micro-benchmarks, with\n"
      "any text around the tables, predicts every row on a cluster, and prints both with the\n"
      "error: predicted over measured time, minus 1.\n"
      "\n"
      "  pipewright comm compare all_reduce_16.log --cluster dgx-a100\n"
      "  pipewright comm compare *.log --cluster mine.xml -o curves.svg page.html\n"
      "  pipewright comm compare all_reduce_16.log --cluster dgx-a100 --y busbw -o busbw.png\n"
      "  pipewright comm compare all_reduce_16.log --cluster dgx-a100 --assume '180 GB/s'\n"
      "  pipewright comm compare *.log --cluster fitted.xml --max-error 20%   # for CI\n"
      "  pipewright comm compare *.log --cluster dgx-a100 --record recorded.xml\n"
      "\n"
      "Ranks use the first GPUs of the cluster: whole nodes one after the other, or spread\n"
      "evenly over the number of nodes in the log or in --nodes.\n"
      "\n"
      "{}",
      describe(comm_compare_options()));
  return exit_ok;
}

std::optional<std::string> optional_text(const po::variables_map& options, const char* option) {
  if (options.count(option) == 0) return std::nullopt;
  return options[option].as<std::string>();
}

CurveAxis parse_axis(const std::string& text) {
  if (text == "time") return CurveAxis::time;
  if (text == "busbw") return CurveAxis::bus_bandwidth;
  throw UsageError(fmt::format("--y '{}': must be time or busbw", text));
}

std::filesystem::path record_file(const po::variables_map& options, const std::string& text) {
  if (!text.ends_with(".xml"))
    throw UsageError(fmt::format("--record {}: the file name must end in .xml", text));
  if (options.count("algorithm") != 0)
    throw UsageError("--record cannot be combined with --algorithm");
  std::vector<std::filesystem::path> written{text};
  for (const std::string& output : values(options, "output")) written.emplace_back(output);
  check_files(log_files(options, "compare"), written);
  const trace::PartialFile probe(text);  // fails before the simulation, not after it
  return text;
}

CommCompareRequest read_comm_compare_request(const po::variables_map& options) {
  CommCompareRequest request{.json = options.count("json") != 0,
                             .all_rows = options.count("all-rows") != 0};
  if (const auto text = optional_text(options, "algorithm"))
    request.algorithm = parse_algorithm(*text);
  if (const auto text = optional_text(options, "y")) request.axis = parse_axis(*text);
  if (const auto text = optional_text(options, "assume")) request.assumed = parse_bandwidth(*text);
  if (const auto text = optional_text(options, "max-error"))
    request.max_error = config::parse_share(*text, "--max-error", "a median error such as 20%");
  if (options.count("in-place") != 0 && options.count("out-of-place") != 0)
    throw UsageError("--in-place and --out-of-place exclude all rows")
        .suggest("give at most one of them");
  const std::vector<std::string> words = values(options, "output");
  const std::vector<std::filesystem::path> files(words.begin(), words.end());
  request.outputs = parse_outputs(files);
  check_files(log_files(options, "compare"), files);
  if (const auto text = optional_text(options, "record"))
    request.record = record_file(options, *text);
  for (const char* const option : {"record-source", "record-fitted"})
    if (!request.record && options.count(option) != 0)
      throw UsageError(fmt::format("--{} needs --record OUT.xml", option));
  return request;
}

void filter_rows(const po::variables_map& options, std::vector<analysis::Measurement>& rows) {
  const bool in_place = options.count("in-place") != 0;
  if (!in_place && options.count("out-of-place") == 0) return;
  std::erase_if(rows, [&](const analysis::Measurement& row) { return row.in_place != in_place; });
  if (rows.empty())
    throw UsageError(fmt::format("comm compare finds no rows in the logs that were measured {}",
                                 in_place ? "in place" : "out of place"));
}

std::vector<analysis::DrawnCurve> drawn_curves(const cluster::Cluster& cluster,
                                               const CompareReport& report, Algorithm algorithm) {
  std::vector<analysis::DrawnCurve> curves;
  for (const analysis::CurveReport& curve : report.curves)
    curves.push_back({curve.curve, comm::predict_between(cluster, curve.curve, algorithm)});
  return curves;
}

void write_comparison(const Output& output, const CompareReport& report,
                      std::span<const analysis::DrawnCurve> curves,
                      const CommCompareRequest& request) {
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
                  const po::variables_map& options, const std::filesystem::path& file) {
  const std::string source =
      optional_text(options, "record-source").value_or(comm::source_text(rows));
  const auto records = comm::records_of(cluster, rows, options.count("record-fitted") == 0, source);
  trace::write_file(
      file, comm::with_records(cluster.text(), comm::merge_records(cluster.records(), records)));
}

// Returns a suggestion to fit the cluster if predictions are consistently too high or too low, for
// all rows or for a range of sizes; else nothing.
std::string advice(const CompareReport& report, const po::variables_map& options) {
  if (report.one_sided.empty()) return "";
  const std::vector<std::string> logs = values(options, "log");
  return fmt::format(
      "to fit the cluster to these logs: pipewright comm fit {} --cluster {} -o fitted.xml\n",
      logs.size() == 1 ? analysis::printable(logs.front()) : "LOG..",
      analysis::printable(values(options, "cluster").front()));
}

// Returns what the cluster file records about the accuracy of the compared operations.
std::string record_text(const cluster::Cluster& cluster, const CompareReport& report) {
  std::string text;
  std::set<std::string> seen;
  for (const analysis::CurveReport& curve : report.curves) {
    const analysis::Measurement& row = curve.curve.rows.front().measured;
    const std::string accuracy = comm::accuracy_text(cluster.records(), to_string(row.operation),
                                                     comm::node_count(cluster, row));
    if (!accuracy.empty() && seen.insert(accuracy).second)
      text += fmt::format("the file was {}\n", accuracy);
  }
  return text;
}

}  // namespace

int comm_compare(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, comm_compare_options(), "log");
  if (options.count("help") != 0) return print_comm_compare_help();
  const CommCompareRequest request = read_comm_compare_request(options);
  analysis::MeasurementLog log = read_given_logs(options, "compare");
  filter_rows(options, log.rows);
  cluster::Cluster cluster = load_cluster(options, "compare");
  remark_on_gpus(cluster, log);

  watch_for_interrupts();
  std::vector<analysis::ComparedRow> rows;
  {
    ProgressBar bar("simulating", true);
    rows = comm::predict_rows(cluster, log.rows, request.algorithm,
                              [&](std::size_t done, std::size_t total) {
                                throw_if_interrupted();
                                if (bar.is_due())
                                  bar.draw(static_cast<double>(done) / static_cast<double>(total),
                                           fmt::format("{} of {} rows", done, total));
                              });
  }
  const CompareReport report =
      analysis::compare_report(cluster.name(), rows, request.assumed, std::move(log.remarks));
  std::vector<analysis::DrawnCurve> curves;
  if (std::ranges::any_of(request.outputs, [](const Output& output) {
        return is_picture(output) || output.kind == OutputKind::html;
      }))
    curves = drawn_curves(cluster, report, request.algorithm);
  for (const Output& output : request.outputs) write_comparison(output, report, curves, request);
  if (request.record) write_record(cluster, rows, options, *request.record);

  if (request.json) {
    fmt::print("{}", json_text(report));
  } else {
    fmt::print("{}{}{}", console_text(report, request.all_rows), record_text(cluster, report),
               advice(report, options));
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
