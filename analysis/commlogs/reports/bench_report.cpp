#include "analysis/commlogs/reports/bench_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::uint32_t bench_element_bytes =
    4;  // Size of a float, the default type of nccl-tests.

double bus_bandwidth(const BenchReport& report, const BenchRow& row) {
  return algorithm_bandwidth(row.bytes, row.seconds) * report.factor();
}

// Formats a time in microseconds as nccl-tests does: longer times have fewer decimals, and times
// from 10 ms on have none.
std::string bench_microseconds(double seconds) {
  const double us = seconds * 1e6;
  if (us >= 10'000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string bench_percent(double ratio) {
  // A difference that rounds to 0.0 % is printed without a minus sign.
  return fmt::format("{:+.1f}", std::abs(ratio) < 5e-4 ? 0.0 : 100 * ratio);
}

std::string bench_gigabytes_per_s(double bytes_per_s) {
  return fmt::format("{:.2f}", bytes_per_s / 1e9);
}

// Columns of nccl-tests, then the time relative to the formula and the bus bandwidth relative to
// the assumed one.
ReportColumns<BenchRow> bench_columns(const BenchReport& report) {
  using Row = BenchRow;
  ReportColumns<Row> columns{
      {"bytes", {"size", "bytes"}, Quantity::count(), &Row::bytes},
      table_only<Row>({"count",
                       {"count", "elements"},
                       Quantity::count(),
                       [&](const Row& row) {
                         return element_count(report.operation, report.ranks(), row.bytes,
                                              bench_element_bytes);
                       }}),
      table_only<Row>({"type", {"type"}, Quantity::name(), [](const Row&) { return "float"; }}),
      {"seconds", &Row::seconds},
      table_only<Row>({"time",
                       {"time", "us"},
                       Quantity::count(),
                       [](const Row& row) {
                         return (row.untried ? "~" : "") + bench_microseconds(row.seconds);
                       }}),
      {"algbw_bytes_per_s",
       {"algbw", "GB/s"},
       Quantity::each_as(bench_gigabytes_per_s),
       [](const Row& row) { return algorithm_bandwidth(row.bytes, row.seconds); }},
      {"busbw_bytes_per_s",
       {"busbw", "GB/s"},
       Quantity::each_as(bench_gigabytes_per_s),
       [&](const Row& row) { return bus_bandwidth(report, row); }},
      {"formula_s", {"formula", "us"}, Quantity::each_as(bench_microseconds), &Row::formula},
      table_only<Row>({"difference",
                       {"time over", "formula, %"},
                       Quantity::each_as(bench_percent),
                       [](const Row& row) { return row.difference(); }}),
      {"by", {"algorithm"}, Quantity::name(), &Row::method}};
  if (report.has_record) columns.emplace_back("outside_record", &Row::untried);
  if (report.assumed)
    columns.push_back(table_only<Row>(
        {"assumed",
         {"busbw over", "assumed, %"},
         Quantity::each_as(bench_percent),
         [&](const Row& row) { return bus_bandwidth(report, row) / *report.assumed - 1; }}));
  return columns;
}

ReportColumn<BenchReport> busiest_column(std::string key, Json (*value)(const BusiestRank&)) {
  return {std::move(key), [value](const BenchReport& report) {
            return report.busiest ? value(*report.busiest) : no_field();
          }};
}

// Fields that describe the whole benchmark and precede those of each row in files.
ReportColumns<BenchReport> bench_head_columns() {
  using Report = BenchReport;
  return {
      {"cluster", &Report::cluster},
      {"operation", [](const Report& report) { return to_string(report.operation); }},
      {"ranks", &Report::ranks},
      {"nodes", &Report::nodes},
      {"groups", &Report::groups},
      {"matrix",
       [](const Report& report) {
         return report.matrix.empty() ? no_field() : Json(report.matrix);
       }},
      busiest_column("busiest_rank", [](const BusiestRank& busiest) { return Json(busiest.rank); }),
      busiest_column("busiest_sends",
                     [](const BusiestRank& busiest) { return Json(busiest.sends); }),
      busiest_column("busiest_share",
                     [](const BusiestRank& busiest) { return Json(busiest.share); }),
      busiest_column("busiest_over_mean",
                     [](const BusiestRank& busiest) { return Json(busiest.over_mean); })};
}

// Compares the formula with the simulation, in lines for a terminal.
std::string formula_finding(const BenchReport& report) {
  const auto worst = std::ranges::max_element(report.rows, {}, &BenchRow::difference);
  if (worst->difference() > 0.01)
    return fmt::format(
        "The formula (steps x latency + bytes / bandwidth of a GPU's own links) is up to {} % "
        "too fast,\nat {} bytes: links are shared, or the route is narrower than its ends.",
        bench_percent(worst->difference()).substr(1), worst->bytes);
  return "The formula (steps x latency + bytes / bandwidth of a GPU's own links) holds for all "
         "sizes.";
}

std::string assumption_finding(const BenchReport& report) {
  const auto holds = [&](const BenchRow& row) {
    return std::abs(bus_bandwidth(report, row) / *report.assumed - 1) <= 0.1;
  };
  const auto matches = std::ranges::count_if(report.rows, holds);
  const auto first = std::ranges::find_if(report.rows, holds);
  return fmt::format(
      "An assumed bus bandwidth of {:g} GB/s is right within 10 % at {} of {} sizes{}.",
      *report.assumed / 1e9, matches, report.rows.size(),
      first == report.rows.end() ? "" : fmt::format(", the smallest {} bytes", first->bytes));
}

}  // namespace

std::string bench_title(const BenchReport& report) {
  return fmt::format(
      "{}{} over {} ranks on {} {}{}", to_string(report.operation),
      report.matrix.empty() ? "" : " of " + report.matrix, report.ranks(), report.nodes,
      report.nodes == 1 ? "node" : "nodes",
      report.groups == 1 ? "" : fmt::format(", {} such groups at once", report.groups));
}

TextTable bench_table(const BenchReport& report) {
  TextTable table;
  add_columns(table, bench_columns(report), report.rows);
  return table;
}

std::vector<std::string> bench_findings(const BenchReport& report) {
  std::vector<std::string> findings;
  if (report.busiest)
    findings.push_back(fmt::format(
        "Rank {} ({}) is the busiest: it {} {:.1f} % of the size {} other ranks,\n{:.2f} times the "
        "mean of all ranks.",
        report.busiest->rank, printable(report.gpus[report.busiest->rank]),
        report.busiest->sends ? "sends" : "receives", 100 * report.busiest->share,
        report.busiest->sends ? "to" : "from", report.busiest->over_mean));
  findings.push_back(formula_finding(report));
  if (!report.tried.empty()) findings.push_back(fmt::format("The file was {}.", report.tried));
  if (const auto outside_count = std::ranges::count_if(report.rows, &BenchRow::untried);
      outside_count > 0)
    findings.push_back(fmt::format("~ marks {} of {} sizes outside the range that it was tried on.",
                                   outside_count, report.rows.size()));
  if (report.assumed) findings.push_back(assumption_finding(report));
  return findings;
}

std::string bench_text(const BenchReport& report) {
  return fmt::format("{}: {}, simulated\n\n{}\n{}\n", report.cluster, bench_title(report),
                     bench_table(report).text(), fmt::join(bench_findings(report), "\n"));
}

std::string bench_log(const BenchReport& report) {
  const OperationInfo& info = info_of(report.operation);
  const std::string_view test = report.busiest           ? "alltoallv_perf"
                                : info.nccl_test.empty() ? info.name
                                                         : info.nccl_test;
  std::string text =
      fmt::format("# {}\n# simulated by pipewright comm bench on {}\n#\n# Using devices\n", test,
                  report.cluster);
  for (std::uint32_t rank = 0; rank < report.ranks(); ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on node-{} device {:2} [0x00] {}\n", rank,
                        rank, report.node_of[rank], rank, printable(report.gpus[rank]));
  text +=
      "#\n"
      "#                                                              out-of-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n";
  double sum = 0;
  for (const BenchRow& row : report.rows) {
    sum += bus_bandwidth(report, row);
    text += fmt::format(
        "{:12}  {:12}  {:>8}  {:>6}  {:>6}  {:>7}  {:6.2f}  {:6.2f}    N/A\n", row.bytes,
        element_count(report.operation, report.ranks(), row.bytes, bench_element_bytes), "float",
        info.reduces ? "sum" : "none", info.rooted ? 0 : -1, bench_microseconds(row.seconds),
        algorithm_bandwidth(row.bytes, row.seconds) / 1e9, bus_bandwidth(report, row) / 1e9);
  }
  return text + fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g}\n#\n",
                            sum / static_cast<double>(report.rows.size()) / 1e9);
}

std::string bench_json(const BenchReport& report) {
  Json json = json_object(bench_head_columns(), report);
  json["rows"] = json_rows(bench_columns(report), report.rows);
  return json_document(json);
}

std::string bench_csv(const BenchReport& report) {
  const auto head = picked(bench_head_columns(), {"operation", "ranks", "nodes", "groups"});
  ReportColumns<BenchRow> columns;
  for (const ReportColumn<BenchReport>& column : head)
    columns.emplace_back(column.key,
                         [cell = column.value(report)](const BenchRow&) { return cell; });
  for (ReportColumn<BenchRow>& column : bench_columns(report)) {
    column.value = [value = column.value](const BenchRow& row) {
      const Json cell = value(row);
      return cell.is_number_float() ? Json(fmt::format("{:.9g}", cell.get<double>())) : cell;
    };
    columns.push_back(std::move(column));
  }
  return csv_text(columns, report.rows);
}

}  // namespace pipewright::analysis
