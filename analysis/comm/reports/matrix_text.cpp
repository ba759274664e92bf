#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/comm/reports/matrix_report.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_rows = 16;  // of a matrix in text

std::string gigabytes(double bytes_per_s) {
  const double value = bytes_per_s / 1e9;
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}
std::string microseconds(double seconds) { return fmt::format("{:.3g}", seconds * 1e6); }

std::string classes_text(const MatrixReport& report) {
  std::vector<std::string> where, counts, links, bandwidths, latencies, examples;
  for (const PairClass& one : report.by_gpu.classes) {
    where.push_back(one.where);
    counts.push_back(fmt::format("{}", one.pairs));
    links.push_back(printable(one.links));
    bandwidths.push_back(gigabytes(one.reached(report.message)));
    latencies.push_back(microseconds(one.latency));
    examples.push_back(printable(one.sender) + " to " + printable(one.receiver));
  }
  TextTable table;
  table.add_names("where", std::move(where));
  table.add_numbers({"pairs"}, std::move(counts));
  table.add_names("over", std::move(links));
  table.add_numbers({"bandwidth", "GB/s"}, std::move(bandwidths));
  table.add_numbers({"latency", "us"}, std::move(latencies));
  table.add_names("the first", std::move(examples));
  return table.text();
}

std::string cells_text(const PairMatrix& matrix, const std::string& title,
                       const std::vector<std::string>& of_class) {
  TextTable table;
  std::vector<std::string> names, numbers;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    names.push_back(printable(matrix.names[i]));
    numbers.push_back(fmt::format("{}", i));
  }
  table.add_names(title, std::move(names));
  table.add_numbers({""}, numbers);
  for (std::size_t j = 0; j < matrix.size(); ++j) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const std::uint32_t number = matrix.at(i, j);
      cells.push_back(number == PairMatrix::itself ? "-" : of_class[number]);
    }
    table.add_numbers({numbers[j]}, std::move(cells));
  }
  return table.text();
}

std::string matrices_text(const MatrixReport& report) {
  const PairMatrix& matrix = report.matrix;
  if (!matrix.is_whole() || matrix.size() > most_rows) return "";
  std::vector<std::string> bandwidths, latencies;
  for (const PairClass& one : matrix.classes) {
    bandwidths.push_back(gigabytes(one.reached(report.message)));
    latencies.push_back(microseconds(one.latency));
  }
  return '\n' + cells_text(matrix, "GB/s from", bandwidths) + '\n' +
         cells_text(matrix, "us from", latencies);
}

std::string crowd_text(const MatrixReport& report) {
  const Contention& contention = report.contention;
  const auto half = static_cast<double>(std::max<std::size_t>(report.by_gpu.size() / 2, 1));
  const auto gpus = [&](double rate) {
    return fmt::format("{} GB/s, {} a GPU", gigabytes(rate), gigabytes(rate / half));
  };
  std::string text =
      fmt::format("\nfirst half of the GPUs to the second, along rails (bisection): {}\n",
                  gpus(contention.bisection));
  if (contention.all_pairs > 0)
    text += fmt::format("first half of the GPUs to the second, each to all alike:       {}\n",
                        gpus(contention.all_pairs));
  text += '\n';
  std::vector<std::string> names, slowest, totals, parts, links, flows;
  const auto add = [&](std::string name, const PermutationFigures& one) {
    names.push_back(std::move(name));
    slowest.push_back(gigabytes(one.slowest));
    totals.push_back(gigabytes(one.total));
    parts.push_back(fmt::format("{:.0f} %", 100 * one.total / one.alone));
    links.push_back(one.link.empty() ? "no shared link"
                                     : fmt::format("{}, {} GB/s", printable(one.link),
                                                   gigabytes(one.link_bandwidth)));
    flows.push_back(one.link.empty() ? "" : fmt::format("{}", one.link_flows));
  };
  add(fmt::format("shift by {}", report.by_gpu.size() / 2), contention.half_shift);
  add("worst found: " + contention.worst_from, contention.worst);
  TextTable table;
  table.add_names("all send at once, each to one", std::move(names));
  table.add_numbers({"slowest", "GB/s"}, std::move(slowest));
  table.add_numbers({"total", "GB/s"}, std::move(totals));
  table.add_numbers({"of what", "all get", "alone"}, std::move(parts));
  table.add_names("the slowest waits for", std::move(links));
  table.add_numbers({"flows", "on it"}, std::move(flows));
  text += table.text();
  if (contention.slowest_bound > 0)
    text += fmt::format(
        "{} permutations tried; whatever the permutation, no flow gets less than {} GB/s\n",
        contention.tried, gigabytes(contention.slowest_bound));
  else
    text += fmt::format("{} permutations tried\n", contention.tried);
  return text;
}

}  // namespace

std::string matrix_text(const MatrixReport& report) {
  const std::size_t gpus = report.by_gpu.size();
  const std::set<std::uint32_t> nodes(report.by_gpu.nodes.begin(), report.by_gpu.nodes.end());
  std::string text = fmt::format("{}: {} GPUs on {} {}\n", printable(report.cluster), gpus,
                                 nodes.size(), nodes.size() == 1 ? "node" : "nodes");
  if (!report.by_gpu.is_whole())
    text += fmt::format("{} of {} pairs were looked at, evenly chosen\n", report.by_gpu.pairs,
                        std::uint64_t{gpus} * (gpus - 1));
  if (report.message > 0)
    text += fmt::format("bandwidth is that of messages of {}, which wait for the latency\n",
                        format_exact_bytes(report.message));
  return text + '\n' + classes_text(report) + matrices_text(report) + crowd_text(report);
}

}  // namespace pipewright::analysis
