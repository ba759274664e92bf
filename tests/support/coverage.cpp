#include "support/coverage.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::tests {
namespace {

void add(const evaluation::MeasuredRuns& runs, const trace::ExpectedError& expected,
         Coverage& coverage) {
  const double weight = static_cast<double>(runs.rows) / static_cast<double>(runs.errors.size());
  for (const double error : runs.errors) {
    const double relative = std::expm1(error);
    const bool is_covered = relative >= expected.low && relative <= expected.high;
    coverage.rows += weight;
    coverage.covered += is_covered ? weight : 0;
    coverage.width += weight * (expected.high - expected.low);
  }
}

}  // namespace

std::vector<Coverage> left_out_coverage(std::span<const evaluation::MeasuredRuns> runs) {
  std::vector<Coverage> coverage;
  for (const evaluation::MeasuredRuns& each : runs)
    if (std::ranges::find(coverage, each.source, &Coverage::source) == coverage.end())
      coverage.push_back({.source = each.source});
  for (Coverage& source : coverage) {
    std::vector<evaluation::MeasuredRuns> others;
    std::ranges::copy_if(runs, std::back_inserter(others),
                         [&](const auto& each) { return each.source != source.source; });
    for (const evaluation::MeasuredRuns& each : runs)
      if (each.source == source.source)
        add(each, evaluation::expected_error(each.kind, others), source);
    source.width /= source.rows;
  }
  return coverage;
}

double row_share(std::span<const Coverage> coverage) {
  double rows = 0;
  double covered = 0;
  for (const Coverage& source : coverage) {
    rows += source.rows;
    covered += source.covered;
  }
  return covered / rows;
}

double mean_share(std::span<const Coverage> coverage) {
  double sum = 0;
  for (const Coverage& source : coverage) sum += source.share();
  return sum / static_cast<double>(coverage.size());
}

}  // namespace pipewright::tests
