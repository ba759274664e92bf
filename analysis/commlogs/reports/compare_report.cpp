#include "analysis/commlogs/reports/compare_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::analysis {
namespace {

std::optional<OneSided> find_one_sided(std::span<const ComparedRow> rows,
                                       const std::string& sizes) {
  const double bias = summarize(rows).bias;
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(rows, [&](const ComparedRow& row) {
        return std::signbit(row.error()) == std::signbit(bias);
      }));
  if (rows.size() < 4 || std::abs(bias) < 0.1 || 10 * count < 9 * rows.size()) return std::nullopt;
  return OneSided{sizes, bias, count, rows.size()};
}

// Looks for errors that nearly all have the same sign: among all rows, or else among the rows of
// each range of errors_by_size(). `ranges` must be in ascending order.
std::vector<OneSided> one_sided_findings(std::vector<ComparedRow> rows,
                                         std::span<const SizeRange> ranges) {
  if (auto overall = find_one_sided(rows, "")) return {*overall};
  std::ranges::stable_sort(rows, {}, [](const ComparedRow& row) { return row.measured.bytes; });
  std::vector<OneSided> findings;
  std::span<const ComparedRow> rest = rows;
  for (const SizeRange& range : ranges) {
    if (auto finding = find_one_sided(rest.first(range.errors.rows), range.name))
      findings.push_back(*finding);
    rest = rest.subspan(range.errors.rows);
  }
  return findings;
}

}  // namespace

CompareReport compare_report(std::string cluster, std::span<const ComparedRow> rows,
                             std::optional<double> assumed, std::vector<LogRemark> remarks) {
  CompareReport report{.cluster = std::move(cluster),
                       .curves = {},
                       .errors = summarize(rows),
                       .by_size = errors_by_size(rows),
                       .one_sided = {},
                       .assumed = assumed,
                       .remarks = std::move(remarks)};
  report.one_sided = one_sided_findings({rows.begin(), rows.end()}, report.by_size);
  for (ComparedCurve& curve : group_into_curves(rows)) {
    CurveReport curve_report{.curve = std::move(curve), .errors = {}, .assumption = {}};
    curve_report.errors = summarize(curve_report.curve.rows);
    if (assumed) curve_report.assumption = check_assumption(curve_report.curve, *assumed);
    report.curves.push_back(std::move(curve_report));
  }
  return report;
}

}  // namespace pipewright::analysis
