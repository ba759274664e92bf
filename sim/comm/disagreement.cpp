#include "sim/comm/disagreement.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/report/statistics.hpp"

namespace pipewright::comm {
namespace {

constexpr std::size_t min_shared_rows = 4;
// Ratio of times above which two logs disagree. Repeated runs of nccl-tests on the same machine
// differ by a few per cent, short ones by up to ten.
constexpr double max_repeat_ratio = 1.25;

using RowKey = std::tuple<analysis::Operation, std::uint32_t, std::uint32_t, std::uint64_t, bool>;

}  // namespace

std::optional<Disagreement> find_disagreement(const std::vector<analysis::Measurement>& rows) {
  std::map<RowKey, std::map<std::string, double>> times;  // keyed by file
  for (const analysis::Measurement& row : rows)
    times[{row.operation, row.ranks, row.nodes, row.bytes, row.in_place}].emplace(row.file,
                                                                                  row.seconds);
  std::map<std::pair<std::string, std::string>, std::vector<double>> ratios;
  for (const auto& [key, by_file] : times)
    for (auto first = by_file.begin(); first != by_file.end(); ++first)
      for (auto second = std::next(first); second != by_file.end(); ++second)
        ratios[{first->first, second->first}].push_back(second->second / first->second);
  std::optional<Disagreement> worst;
  for (const auto& [files, samples] : ratios) {
    const double ratio = analysis::quantile(samples, 0.5);
    const double unlike = std::max(ratio, 1 / ratio);
    if (samples.size() < min_shared_rows || unlike <= max_repeat_ratio ||
        (worst && worst->ratio >= unlike))
      continue;
    worst = {files.first, files.second, samples.size(), unlike};
    if (ratio < 1) std::swap(worst->faster, worst->slower);
  }
  return worst;
}

}  // namespace pipewright::comm
