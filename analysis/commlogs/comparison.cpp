#include "analysis/commlogs/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

std::string curve_name(const Measurement& row) {
  std::string name = fmt::format("{}, {} ranks", to_string(row.operation), row.ranks);
  if (row.nodes > 0) name += fmt::format(" on {} {}", row.nodes, row.nodes == 1 ? "node" : "nodes");
  if (row.in_place) name += ", in place";
  return name;
}

int deviation_side(double ratio) {
  return ratio > 1 + tolerated_deviation ? 1 : ratio < 1 - tolerated_deviation ? -1 : 0;
}

std::vector<DeviationRange> deviation_ranges(const ComparedCurve& curve, double assumed,
                                             bool measured) {
  std::vector<DeviationRange> ranges;
  int previous_side = 0;
  for (const ComparedRow& row : curve.rows) {
    const double actual =
        bus_bandwidth(row.measured, measured ? row.measured.seconds : row.predicted);
    const double ratio = assumed / actual;  // Infinite if there is no bandwidth.
    const int current_side = deviation_side(ratio);
    if (current_side != 0 && current_side != previous_side)
      ranges.push_back({row.measured.bytes, row.measured.bytes, 0, ratio, ratio});
    if (current_side != 0) {
      DeviationRange& range = ranges.back();
      range.to = row.measured.bytes;
      ++range.rows;
      range.min_ratio = std::min(range.min_ratio, ratio);
      range.max_ratio = std::max(range.max_ratio, ratio);
    }
    previous_side = current_side;
  }
  return ranges;
}

}  // namespace

ErrorSummary summarize(std::span<const ComparedRow> rows) {
  ErrorSummary summary;
  summary.rows = rows.size();
  if (rows.empty()) return summary;
  std::vector<double> errors, sizes;
  for (const ComparedRow& row : rows) {
    errors.push_back(row.error());
    sizes.push_back(std::abs(row.error()));
  }
  summary.bias = quantile(std::move(errors), 0.5);
  summary.median = quantile(sizes, 0.5);
  summary.p90 = quantile(sizes, 0.9);
  summary.largest = quantile(std::move(sizes), 1);
  return summary;
}

std::vector<ComparedCurve> group_into_curves(std::span<const ComparedRow> rows) {
  using Key = std::tuple<std::string, Operation, std::uint32_t, std::uint32_t, bool>;
  std::map<Key, std::size_t> curve_indices;
  std::vector<ComparedCurve> curves;  // Curves are in the order of their first rows.
  for (const ComparedRow& row : rows) {
    const Measurement& m = row.measured;
    const auto [entry, is_new] = curve_indices.try_emplace(
        {m.file, m.operation, m.ranks, m.nodes, m.in_place}, curves.size());
    if (is_new) curves.push_back({curve_name(m), {}});
    curves[entry->second].rows.push_back(row);
  }
  for (ComparedCurve& curve : curves)
    std::ranges::stable_sort(curve.rows, {},
                             [](const ComparedRow& row) { return row.measured.bytes; });
  // Appends the name of the log file to a curve's name only if several curves share that name.
  std::map<std::string, int> uses;
  for (const ComparedCurve& curve : curves) ++uses[curve.name];
  for (ComparedCurve& curve : curves)
    if (uses[curve.name] > 1)
      curve.name += fmt::format(
          " ({})", printable(std::filesystem::path(curve.rows.front().measured.file).filename()));
  return curves;
}

std::vector<SizeRange> errors_by_size(std::span<const ComparedRow> rows) {
  struct Bound {
    const char* name;
    std::uint64_t to;
  };
  static constexpr std::array<Bound, 5> bounds{
      {{"up to 64 KiB", 1ULL << 16U},
       {"64 KiB to 1 MiB", 1ULL << 20U},
       {"1 MiB to 16 MiB", 1ULL << 24U},
       {"16 MiB to 256 MiB", 1ULL << 28U},
       {"above 256 MiB", std::numeric_limits<std::uint64_t>::max()}}};
  std::vector<SizeRange> ranges;
  std::uint64_t from = 0;
  for (const Bound& bound : bounds) {
    std::vector<ComparedRow> inside;
    for (const ComparedRow& row : rows)
      if ((row.measured.bytes > from || from == 0) && row.measured.bytes <= bound.to)
        inside.push_back(row);
    if (!inside.empty()) ranges.push_back({bound.name, summarize(inside)});
    from = bound.to;
  }
  return ranges;
}

double bus_bandwidth(const Measurement& row, double seconds) {
  return algorithm_bandwidth(row.bytes, seconds) * bus_factor(row.operation, row.ranks);
}

AssumptionCheck check_assumption(const ComparedCurve& curve, double bus_bandwidth) {
  return {deviation_ranges(curve, bus_bandwidth, true),
          deviation_ranges(curve, bus_bandwidth, false)};
}

}  // namespace pipewright::analysis
