#include "validation/network_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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
  std::ranges::sort(numbers);
  const std::size_t middle = numbers.size() / 2;
  if (numbers.empty()) return 0;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

// Errors of all tables in one range of sizes.
struct RangeErrors {
  std::vector<double> medians;  // signed; one of each table
  std::vector<double> sizes;    // absolute medians; one of each table
};

void print_rows(const MeasuredTable& table) {
  for (const analysis::ComparedRow& row : table.rows)
    fmt::print("    {:>12} B {:>10.1f} us, predicted {:>10.1f} us {:>+6.1f} %  {}{}\n",
               row.measured.bytes, 1e6 * row.measured.seconds, 1e6 * row.predicted,
               100 * row.error(), row.method, row.measured.in_place ? ", in place" : "");
}

}  // namespace

bool print_errors_by_size(const std::filesystem::path& reference, bool rows) {
  std::vector<std::pair<std::string, RangeErrors>> ranges;
  const auto errors_of = [&](const std::string& name) -> RangeErrors& {
    const auto it = std::ranges::find(ranges, name, &std::pair<std::string, RangeErrors>::first);
    return it != ranges.end() ? it->second : ranges.emplace_back(name, RangeErrors{}).second;
  };
  fmt::print("\nCollectives between nodes and racks: median errors in % of each table by sizes\n");
  for (const MeasuredNetwork& network : networks_between_nodes()) {
    if (!std::filesystem::exists(reference / network.file)) {
      fmt::print("  {}: skipped: {}: no such file\n", network.name,
                 (reference / network.file).string());
      continue;
    }
    for (const MeasuredTable& table : tables_of(reference, network)) {
      std::string cells;
      for (const analysis::SizeRange& range : analysis::errors_by_size(table.rows)) {
        RangeErrors& all = errors_of(range.name);
        all.medians.push_back(range.errors.bias);
        all.sizes.push_back(range.errors.median);
        cells += fmt::format("  {}: {:+.1f}", range.name, 100 * range.errors.bias);
      }
      fmt::print("  {:<44}{}\n", table.name, cells);
      if (rows) print_rows(table);
    }
  }
  fmt::print("\n  {:<20} {:>7} {:>8} {:>8} {:>9}\n", "sizes", "tables", "median", "bias",
             "too fast");
  for (const auto& [name, errors] : ranges)
    fmt::print("  {:<20} {:>7} {:>8.1f} {:>+8.1f} {:>9}\n", name, errors.medians.size(),
               100 * median_of(errors.sizes), 100 * median_of(errors.medians),
               std::ranges::count_if(errors.medians, [](double error) { return error < 0; }));
  return true;
}

}  // namespace pipewright::accuracy
