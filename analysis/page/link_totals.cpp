#include "analysis/page/link_totals.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace pipewright::analysis {
namespace {

double share(double bytes, double bandwidth, double s) {
  return bandwidth > 0 && s > 0 ? bytes / (bandwidth * s) : 0;
}

}  // namespace

std::vector<LinkTotals> link_totals(const trace::Trace& trace, double makespan_s) {
  struct Piece {
    double end = 0;
    double bytes = 0;
  };
  std::vector<LinkTotals> totals(trace.links.size());
  std::vector<std::map<double, Piece>> pieces(totals.size());  // by their start
  for (const trace::LinkUseRow& row : trace.link_use) {
    LinkTotals& link = totals.at(row.link);
    link.bytes.at(static_cast<std::size_t>(row.traffic)) += row.bytes;
    link.waited_s += row.waited;
    Piece& piece = pieces[row.link][row.start];
    piece.end = std::max(piece.end, row.end);
    piece.bytes += static_cast<double>(row.bytes);
  }
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double bandwidth = trace.links[i].bandwidth;
    const auto& carried = totals[i].bytes;
    const auto sum = std::accumulate(carried.begin(), carried.end(), std::uint64_t{0});
    totals[i].mean_use = share(static_cast<double>(sum), bandwidth, makespan_s);
    // One row for the whole run tells of no peak.
    for (const auto& [start, piece] : pieces[i]) {
      if (piece.end - start > 0.5 * makespan_s) continue;
      totals[i].peak_use = std::max(totals[i].peak_use.value_or(0),
                                    share(piece.bytes, bandwidth, piece.end - start));
    }
  }
  return totals;
}

}  // namespace pipewright::analysis
