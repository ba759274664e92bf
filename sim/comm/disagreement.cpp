#include "sim/comm/disagreement.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/report/statistics.hpp"

namespace pipewright::comm {
namespace {

constexpr std::size_t least_rows = 4;
// Runs of nccl-tests on one machine repeat within a few per cent, short ones within ten.
constexpr double most_alike = 1.25;

using What = std::tuple<analysis::Operation, std::uint32_t, std::uint32_t, std::uint64_t, bool>;

}  // namespace

std::optional<Disagreement> disagreement(const std::vector<analysis::Measurement>& rows) {
  std::map<What, std::map<std::string, double>> times;  // by file
  for (const analysis::Measurement& row : rows)
    times[{row.operation, row.ranks, row.nodes, row.bytes, row.in_place}].emplace(row.file,
                                                                                  row.seconds);
  std::map<std::pair<std::string, std::string>, std::vector<double>> ratios;
  for (const auto& [what, by_file] : times)
    for (auto one = by_file.begin(); one != by_file.end(); ++one)
      for (auto other = std::next(one); other != by_file.end(); ++other)
        ratios[{one->first, other->first}].push_back(other->second / one->second);
  std::optional<Disagreement> worst;
  for (const auto& [files, all] : ratios) {
    const double ratio = analysis::quantile(all, 0.5);
    const double unlike = std::max(ratio, 1 / ratio);
    if (all.size() < least_rows || unlike <= most_alike || (worst && worst->ratio >= unlike))
      continue;
    worst = {files.first, files.second, all.size(), unlike};
    if (ratio < 1) std::swap(worst->one, worst->other);
  }
  return worst;
}

}  // namespace pipewright::comm
