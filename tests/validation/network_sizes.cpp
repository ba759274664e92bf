#include "validation/network_sizes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/statistics.hpp"
#include "sim/comm/prediction.hpp"
#include "validation/network_rows.hpp"

namespace pipewright::accuracy {
namespace {

// Rows of one operation on one machine. Rows with buffers in place and out of place are of one
// table, since they have one prediction.
struct MeasuredTable {
  std::string name;
  std::vector<analysis::ComparedRow> rows;
};

std::vector<analysis::ComparedRow> predict(const cluster::Cluster& cluster,
                                           const std::vector<analysis::Measurement>& rows) {
  std::vector<analysis::ComparedRow> compared;
  for (const analysis::Measurement& row : rows) {
    const comm::BenchmarkRun run = comm::benchmark_run(cluster, row);
    const auto method =
        execution::choose(comm::collective_of(run), static_cast<double>(row.bytes),
                          run.groups.front(), config::Algorithm::automatic, run.placement);
    compared.push_back({.measured = row,
                        .predicted = comm::Formula(run).seconds(row.bytes),
                        .method = to_string(method)});
  }
  return compared;
}

std::vector<MeasuredTable> tables_of(const std::filesystem::path& reference,
                                     const MeasuredNetwork& network) {
  std::map<std::string, std::vector<analysis::Measurement>> by_operation;
  for (const analysis::Measurement& row : network_rows(reference, network))
    by_operation[std::string(analysis::to_string(row.operation))].push_back(row);
  const cluster::Cluster cluster = load(network);
  std::vector<MeasuredTable> tables;
  for (const auto& [operation, rows] : by_operation)
    tables.push_back({fmt::format("{}: {}", network.name, operation), predict(cluster, rows)});
  return tables;
}

double median_of(std::vector<double> numbers) {
  return numbers.empty() ? 0 : analysis::quantile(std::move(numbers), 0.5);
}

// Ranges of sizes, and the largest median of absolute errors over all tables. What was aimed at:
// 15 % below 1 MiB, 12 % up to 256 MiB and 8 % above. The bars are the present values.
struct SizeBar {
  std::string_view range;
  double median;
};
constexpr std::array size_bars{
    SizeBar{"up to 64 KiB", 0.15},    SizeBar{"64 KiB to 1 MiB", 0.15},
    SizeBar{"1 MiB to 16 MiB", 0.10}, SizeBar{"16 MiB to 256 MiB", 0.11},
    SizeBar{"above 256 MiB", 0.05},
};

// Medians of the errors of each table in one range of sizes.
struct RangeErrors {
  std::vector<double> biases;  // signed
  std::vector<double> medians;
};

void print_rows(const MeasuredTable& table) {
  for (const analysis::ComparedRow& row : table.rows)
    fmt::print("    {:>12} B {:>10.1f} us, predicted {:>10.1f} us {:>+6.1f} %  {}{}\n",
               row.measured.bytes, 1e6 * row.measured.seconds, 1e6 * row.predicted,
               100 * row.error(), row.method, row.measured.in_place ? ", in place" : "");
}

}  // namespace

bool print_errors_by_size(const std::filesystem::path& reference, bool rows) {
  std::array<RangeErrors, size_bars.size()> ranges;
  fmt::print(
      "\nCollectives between nodes and racks: median of the signed errors of a table, in %\n");
  fmt::print("| table |");
  for (const SizeBar& bar : size_bars) fmt::print(" {} |", bar.range);
  fmt::print("\n|---|---:|---:|---:|---:|---:|\n");
  for (const MeasuredNetwork& network : networks_between_nodes()) {
    if (!std::filesystem::exists(reference / network.file)) {
      fmt::print("{}: skipped: {}: no such file\n", network.name,
                 (reference / network.file).string());
      continue;
    }
    for (const MeasuredTable& table : tables_of(reference, network)) {
      std::array<std::string, size_bars.size()> cells;
      cells.fill("-");
      for (const analysis::SizeRange& range : analysis::errors_by_size(table.rows)) {
        const auto i = static_cast<std::size_t>(
            std::ranges::find(size_bars, range.name, &SizeBar::range) - size_bars.begin());
        ranges.at(i).biases.push_back(range.errors.bias);
        ranges.at(i).medians.push_back(range.errors.median);
        cells.at(i) = fmt::format("{:+.1f}", 100 * range.errors.bias);
      }
      fmt::print("| {} | {} |\n", table.name, fmt::join(cells, " | "));
      if (rows) print_rows(table);
    }
  }
  std::array<std::string, 3> lines{"| median of absolute errors |", "| median of signed errors |",
                                   "| predicted too fast, of tables |"};
  bool is_met = true;
  for (std::size_t i = 0; i < size_bars.size(); ++i) {
    const RangeErrors& range = ranges.at(i);
    const double median = median_of(range.medians);
    is_met = is_met && median <= size_bars.at(i).median;
    lines[0] += fmt::format(" {:.1f} |", 100 * median);
    lines[1] += fmt::format(" {:+.1f} |", 100 * median_of(range.biases));
    lines[2] += fmt::format(
        " {} of {} |", std::ranges::count_if(range.biases, [](double bias) { return bias < 0; }),
        range.biases.size());
  }
  fmt::print("{}\n{}\n", fmt::join(lines, "\n"), is_met ? "" : "A median is above its bar: MISSED");
  return is_met;
}

}  // namespace pipewright::accuracy
