// Draws published curves of collectives and what the platform files predict for them:
//
//   pipewright_network_curves FOLDER
//
// writes a picture of times, one of bus bandwidths and a page for each hardware. The curves are
// read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside the project.

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "analysis/web/comm/compare_page.hpp"
#include "sim/comm/prediction.hpp"
#include "support/reference.hpp"
#include "validation/apart.hpp"
#include "validation/network_rows.hpp"

using namespace pipewright;

namespace {

bool draw(const accuracy::MeasuredNetwork& network, const std::filesystem::path& reference,
          const std::filesystem::path& folder) {
  cluster::Cluster cluster = accuracy::load(network);
  const auto rows = comm::predict_rows(cluster, accuracy::network_rows(reference, network));
  const analysis::CompareReport report = analysis::compare_report(cluster.name(), rows);
  std::vector<analysis::DrawnCurve> curves;
  for (const analysis::CurveReport& one : report.curves)
    curves.push_back({one.curve, comm::predict_between(cluster, one.curve)});
  const analysis::CurveWords words{std::string(network.hardware),
                                   fmt::format("predicted by {}", cluster.name())};
  const auto file = [&](const char* end) {
    return folder / fmt::format("{}{}", network.name, end);
  };
  draw_curves(curves, words, analysis::CurveAxis::time, file(".svg"), analysis::PictureKind::svg);
  draw_curves(curves, words, analysis::CurveAxis::bus_bandwidth, file("-busbw.svg"),
              analysis::PictureKind::svg);
  write_compare_page(file(".html"), report, curves, words);
  fmt::print("{:<14} {:<10} {:>3} rows: error {} at the median, {} at the 90th percentile\n",
             network.name, network.cluster, report.errors.rows,
             analysis::format_percent(report.errors.median),
             analysis::format_percent(report.errors.p90));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: pipewright_network_curves FOLDER\n");
    return 2;
  }
  const std::filesystem::path reference = tests::reference_folder();
  std::filesystem::create_directories(argv[1]);
  int failed = 0;
  for (const accuracy::MeasuredNetwork& network : accuracy::measured_networks()) {
    if (const auto csv = reference / network.file; !std::filesystem::exists(csv))
      fmt::print("skipped: {}: no such file\n", csv.string());
    else
      failed += accuracy::apart([&] { return draw(network, reference, argv[1]); }) ? 0 : 1;
  }
  return failed == 0 ? 0 : 1;
}
