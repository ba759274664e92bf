#include "analysis/commlogs/reports/compare_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::analysis {
namespace {

std::optional<OneSided> one_sided(std::span<const ComparedRow> rows, const std::string& sizes) {
  const double bias = summarize(rows).bias;
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(rows, [&](const ComparedRow& row) {
        return std::signbit(row.error()) == std::signbit(bias);
      }));
  if (rows.size() < 4 || std::abs(bias) < 0.1 || 10 * count < 9 * rows.size()) return std::nullopt;
  return OneSided{sizes, bias, count, rows.size()};
}

// The rows of each range of by_size(), which are in ascending order of sizes.
std::vector<OneSided> findings(std::vector<ComparedRow> rows, std::span<const SizeRange> ranges) {
  if (auto all = one_sided(rows, "")) return {*all};
  std::ranges::stable_sort(rows, {}, [](const ComparedRow& row) { return row.measured.bytes; });
  std::vector<OneSided> found;
  std::span<const ComparedRow> rest = rows;
  for (const SizeRange& range : ranges) {
    if (auto one = one_sided(rest.first(range.errors.rows), range.name)) found.push_back(*one);
    rest = rest.subspan(range.errors.rows);
  }
  return found;
}

}  // namespace

CompareReport compare_report(std::string cluster, std::span<const ComparedRow> rows,
                             std::optional<double> assumed, std::vector<LogRemark> remarks) {
  CompareReport report{.cluster = std::move(cluster),
                       .curves = {},
                       .errors = summarize(rows),
                       .by_size = by_size(rows),
                       .one_sided = {},
                       .assumed = assumed,
                       .remarks = std::move(remarks)};
  report.one_sided = findings({rows.begin(), rows.end()}, report.by_size);
  for (ComparedCurve& curve : curves_of(rows)) {
    CurveReport one{.curve = std::move(curve), .errors = {}, .assumption = {}};
    one.errors = summarize(one.curve.rows);
    if (assumed) one.assumption = check_assumption(one.curve, *assumed);
    report.curves.push_back(std::move(one));
  }
  return report;
}

}  // namespace pipewright::analysis
