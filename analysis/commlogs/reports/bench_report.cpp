#include "analysis/commlogs/reports/bench_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::uint32_t element_bytes = 4;  // float, as nccl-tests if not told otherwise

double bus_bandwidth(const BenchReport& report, const BenchRow& row) {
  return algorithm_bandwidth(row.bytes, row.seconds) * report.factor();
}

// As nccl-tests: two decimals, none from 10 ms on.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  if (us >= 10'000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string percent(double ratio) {
  // Rounding is no difference.
  return fmt::format("{:+.1f}", std::abs(ratio) < 5e-4 ? 0.0 : 100 * ratio);
}

std::string gigabytes_per_s(double bytes_per_s) { return fmt::format("{:.2f}", bytes_per_s / 1e9); }

// As nccl-tests prints a row; how far its time is from the formula, and its bus bandwidth from the
// assumed one.
ReportColumns<BenchRow> columns_of(const BenchReport& report) {
  using Row = BenchRow;
  ReportColumns<Row> columns{
      {"bytes", {"size", "bytes"}, Quantity::count(), &Row::bytes},
      table_only<Row>({"count",
                       {"count", "elements"},
                       Quantity::count(),
                       [&](const Row& row) {
                         return element_count(report.operation, report.ranks(), row.bytes,
                                              element_bytes);
                       }}),
      table_only<Row>({"type", {"type"}, Quantity::name(), [](const Row&) { return "float"; }}),
      {"seconds", &Row::seconds},
      table_only<Row>(
          {"time",
           {"time", "us"},
           Quantity::count(),
           [](const Row& row) { return (row.untried ? "~" : "") + microseconds(row.seconds); }}),
      {"algbw_bytes_per_s",
       {"algbw", "GB/s"},
       Quantity::each_as(gigabytes_per_s),
       [](const Row& row) { return algorithm_bandwidth(row.bytes, row.seconds); }},
      {"busbw_bytes_per_s",
       {"busbw", "GB/s"},
       Quantity::each_as(gigabytes_per_s),
       [&](const Row& row) { return bus_bandwidth(report, row); }},
      {"formula_s", {"formula", "us"}, Quantity::each_as(microseconds), &Row::formula},
      table_only<Row>({"difference",
                       {"time to", "formula, %"},
                       Quantity::each_as(percent),
                       [](const Row& row) { return row.difference(); }}),
      {"by", {"by"}, Quantity::name(), &Row::by}};
  if (report.has_record) columns.emplace_back("outside_record", &Row::untried);
  if (report.assumed)
    columns.push_back(table_only<Row>(
        {"assumed", {"busbw to", "assumed, %"}, Quantity::each_as(percent), [&](const Row& row) {
           return bus_bandwidth(report, row) / *report.assumed - 1;
         }}));
  return columns;
}

ReportColumn<BenchReport> of_busiest(std::string key, Json (*value)(const BusiestRank&)) {
  return {std::move(key), [value](const BenchReport& report) {
            return report.busiest ? value(*report.busiest) : no_field();
          }};
}

// Of the report, before those of a row.
ReportColumns<BenchReport> head_columns() {
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
      of_busiest("busiest_rank", [](const BusiestRank& busiest) { return Json(busiest.rank); }),
      of_busiest("busiest_sends", [](const BusiestRank& busiest) { return Json(busiest.sends); }),
      of_busiest("busiest_share", [](const BusiestRank& busiest) { return Json(busiest.share); }),
      of_busiest("busiest_over_mean",
                 [](const BusiestRank& busiest) { return Json(busiest.over_mean); })};
}

// The formula against the simulation, in lines for a terminal.
std::string formula_finding(const BenchReport& report) {
  const auto most = std::ranges::max_element(report.rows, {}, &BenchRow::difference);
  if (most->difference() > 0.01)
    return fmt::format(
        "The formula (steps x latency + bytes / bandwidth of a GPU's own links) is up to {} % "
        "too fast,\nat {} bytes: links are shared, or the way is narrower than its ends.",
        percent(most->difference()).substr(1), most->bytes);
  return "The formula (steps x latency + bytes / bandwidth of a GPU's own links) holds for all "
         "sizes.";
}

std::string assumption_finding(const BenchReport& report) {
  const auto holds = [&](const BenchRow& row) {
    return std::abs(bus_bandwidth(report, row) / *report.assumed - 1) <= 0.1;
  };
  const auto kept = std::ranges::count_if(report.rows, holds);
  const auto first = std::ranges::find_if(report.rows, holds);
  return fmt::format(
      "An assumed bus bandwidth of {:g} GB/s is within 10 % in {} of {} sizes{}.",
      *report.assumed / 1e9, kept, report.rows.size(),
      first == report.rows.end() ? "" : fmt::format(", the first {} bytes", first->bytes));
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
  add_columns(table, columns_of(report), report.rows);
  return table;
}

std::vector<std::string> bench_findings(const BenchReport& report) {
  std::vector<std::string> findings;
  if (report.busiest)
    findings.push_back(fmt::format(
        "Rank {}, {}, is the busiest: it {} {:.1f} % of the size,\n{:.2f} times what the mean "
        "rank does.",
        report.busiest->rank, printable(report.gpus[report.busiest->rank]),
        report.busiest->sends ? "sends others" : "receives from others",
        100 * report.busiest->share, report.busiest->over_mean));
  findings.push_back(formula_finding(report));
  if (!report.tried.empty()) findings.push_back(fmt::format("The file was {}.", report.tried));
  if (const auto untried = std::ranges::count_if(report.rows, &BenchRow::untried); untried > 0)
    findings.push_back(fmt::format("~ {} of {} sizes are outside of what it was tried on.", untried,
                                   report.rows.size()));
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
        element_count(report.operation, report.ranks(), row.bytes, element_bytes), "float",
        info.reduces ? "sum" : "none", info.rooted ? 0 : -1, microseconds(row.seconds),
        algorithm_bandwidth(row.bytes, row.seconds) / 1e9, bus_bandwidth(report, row) / 1e9);
  }
  return text + fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g}\n#\n",
                            sum / static_cast<double>(report.rows.size()) / 1e9);
}

std::string bench_json(const BenchReport& report) {
  Json json = json_object(head_columns(), report);
  json["rows"] = json_rows(columns_of(report), report.rows);
  return json_document(json);
}

std::string bench_csv(const BenchReport& report) {
  const auto head = picked(head_columns(), {"operation", "ranks", "nodes", "groups"});
  ReportColumns<BenchRow> columns;
  for (const ReportColumn<BenchReport>& column : head)
    columns.emplace_back(column.key,
                         [cell = column.value(report)](const BenchRow&) { return cell; });
  for (ReportColumn<BenchRow>& column : columns_of(report)) {
    column.value = [value = column.value](const BenchRow& row) {
      const Json cell = value(row);
      return cell.is_number_float() ? Json(fmt::format("{:.9g}", cell.get<double>())) : cell;
    };
    columns.push_back(std::move(column));
  }
  return csv_text(columns, report.rows);
}

}  // namespace pipewright::analysis
