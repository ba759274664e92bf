#include "analysis/comm/reports/bench_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/text_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::uint32_t element_bytes = 4;  // float, as nccl-tests if not told otherwise

double bus_bandwidth(const BenchReport& report, const BenchRow& row) {
  return algorithm_bandwidth(row.bytes, row.seconds) * bus_factor(report.operation, report.ranks());
}

// As nccl-tests: two decimals, none from 10 ms on.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  if (us >= 10'000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

bool reduces(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter;
}

std::string percent(double ratio) {
  // Rounding is no difference.
  return fmt::format("{:+.1f}", std::abs(ratio) < 5e-4 ? 0.0 : 100 * ratio);
}

// "+12.0": how far off the assumed bus bandwidth is, as a time.
std::string against(double assumed, const BenchReport& report, const BenchRow& row) {
  return percent(bus_bandwidth(report, row) / assumed - 1);
}

std::string closing_text(const BenchReport& report) {
  std::string text;
  const auto most = std::ranges::max_element(report.rows, {}, &BenchRow::difference);
  if (most->difference() > 0.01)
    text += fmt::format(
        "\nThe formula (steps x latency + bytes / bandwidth of a GPU's own links) is up to {} % "
        "too fast,\nat {} bytes: links are shared, or the way is narrower than its ends.\n",
        percent(most->difference()).substr(1), most->bytes);
  else
    text +=
        "\nThe formula (steps x latency + bytes / bandwidth of a GPU's own links) holds for all "
        "sizes.\n";
  if (!report.assumed) return text;
  const auto holds = [&](const BenchRow& row) {
    return std::abs(bus_bandwidth(report, row) / *report.assumed - 1) <= 0.1;
  };
  const auto kept = std::ranges::count_if(report.rows, holds);
  text += fmt::format("An assumed bus bandwidth of {:g} GB/s is within 10 % in {} of {} sizes",
                      *report.assumed / 1e9, kept, report.rows.size());
  const auto first = std::ranges::find_if(report.rows, holds);
  text += first == report.rows.end() ? ".\n" : fmt::format(", the first {} bytes.\n", first->bytes);
  return text;
}

}  // namespace

std::string bench_text(const BenchReport& report) {
  std::vector<std::string> sizes, counts, types, times, algbw, busbw, formulas, differences, by,
      assumed;
  for (const BenchRow& row : report.rows) {
    sizes.push_back(std::to_string(row.bytes));
    counts.push_back(
        std::to_string(element_count(report.operation, report.ranks(), row.bytes, element_bytes)));
    types.emplace_back("float");
    times.push_back(microseconds(row.seconds));
    algbw.push_back(fmt::format("{:.2f}", algorithm_bandwidth(row.bytes, row.seconds) / 1e9));
    busbw.push_back(fmt::format("{:.2f}", bus_bandwidth(report, row) / 1e9));
    formulas.push_back(microseconds(row.formula));
    differences.push_back(percent(row.difference()));
    by.push_back(row.by);
    if (report.assumed) assumed.push_back(against(*report.assumed, report, row));
  }
  TextTable table;
  table.add_numbers({"size", "bytes"}, std::move(sizes));
  table.add_numbers({"count", "elements"}, std::move(counts));
  table.add_names("type", std::move(types));
  table.add_numbers({"time", "us"}, std::move(times));
  table.add_numbers({"algbw", "GB/s"}, std::move(algbw));
  table.add_numbers({"busbw", "GB/s"}, std::move(busbw));
  table.add_numbers({"formula", "us"}, std::move(formulas));
  table.add_numbers({"time to", "formula, %"}, std::move(differences));
  table.add_names("by", std::move(by));
  if (report.assumed) table.add_numbers({"busbw to", "assumed, %"}, std::move(assumed));
  return fmt::format(
      "{}: {} over {} ranks on {} {}{}, simulated\n\n{}{}", report.cluster,
      to_string(report.operation), report.ranks(), report.nodes,
      report.nodes == 1 ? "node" : "nodes",
      report.groups == 1 ? "" : fmt::format(", {} such groups at once", report.groups),
      table.text(), closing_text(report));
}

std::string bench_log(const BenchReport& report) {
  std::string_view test;
  for (const OperationInfo& info : operation_list())
    if (info.operation == report.operation) test = info.nccl_test;
  std::string text =
      fmt::format("# {}\n# simulated by pipewright comm bench on {}\n#\n# Using devices\n",
                  test.empty() ? to_string(report.operation) : test, report.cluster);
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
        reduces(report.operation) ? "sum" : "none",
        report.operation == Operation::broadcast ? 0 : -1, microseconds(row.seconds),
        algorithm_bandwidth(row.bytes, row.seconds) / 1e9, bus_bandwidth(report, row) / 1e9);
  }
  return text + fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g}\n#\n",
                            sum / static_cast<double>(report.rows.size()) / 1e9);
}

std::string bench_json(const BenchReport& report) {
  nlohmann::ordered_json json{{"cluster", report.cluster},
                              {"operation", to_string(report.operation)},
                              {"ranks", report.ranks()},
                              {"nodes", report.nodes},
                              {"groups", report.groups}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const BenchRow& row : report.rows)
    json["rows"].push_back({{"bytes", row.bytes},
                            {"seconds", row.seconds},
                            {"algbw_bytes_per_s", algorithm_bandwidth(row.bytes, row.seconds)},
                            {"busbw_bytes_per_s", bus_bandwidth(report, row)},
                            {"formula_s", row.formula},
                            {"by", row.by}});
  return json.dump(2) + "\n";
}

std::string bench_csv(const BenchReport& report) {
  std::string text =
      "operation,ranks,nodes,groups,bytes,seconds,algbw_bytes_per_s,busbw_bytes_per_s,formula_s,"
      "by\n";
  for (const BenchRow& row : report.rows)
    text += fmt::format("{},{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},\"{}\"\n",
                        to_string(report.operation), report.ranks(), report.nodes, report.groups,
                        row.bytes, row.seconds, algorithm_bandwidth(row.bytes, row.seconds),
                        bus_bandwidth(report, row), row.formula, row.by);
  return text;
}

}  // namespace pipewright::analysis
