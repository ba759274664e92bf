#include "analysis/measured/compare/pass_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

PassTime time_of(std::uint32_t stage, trace::PassKind kind, std::vector<double> lengths) {
  std::ranges::sort(lengths);
  const std::size_t count = lengths.size();
  const auto n = static_cast<double>(count);
  PassTime time{.stage = stage, .kind = kind, .passes = count};
  time.mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / n;
  time.median = count % 2 == 1 ? lengths[count / 2]
                               : std::midpoint(lengths[count / 2 - 1], lengths[count / 2]);
  constexpr double rounding = 1e-9;  // of times since the start of the run
  time.deviation = standard_deviation(lengths, time.mean);
  if (time.deviation < rounding * time.mean) time.deviation = 0;
  time.least = lengths.front();
  time.most = lengths.back();
  return time;
}

// Returns for each pass true if it has the same times as the previous or next pass of its device,
// that is, if the two ran as a fused pair.
std::vector<bool> fused_passes(std::span<const TimedPass> passes) {
  std::vector<bool> fused(passes.size(), false);
  std::map<std::uint32_t, std::size_t> last;  // by device
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const auto [it, is_first] = last.try_emplace(passes[i].device, i);
    const TimedPass& previous = passes[it->second];
    if (!is_first && previous.start == passes[i].start && previous.end == passes[i].end &&
        previous.end > previous.start)
      fused[i] = fused[it->second] = true;
    it->second = i;
  }
  return fused;
}

}  // namespace

TimedPass timed(const trace::PassRow& row) {
  return {{row.iteration, row.microbatch, row.stage, row.kind}, row.device, row.start, row.end};
}

std::string pass_letter(trace::PassKind kind) { return trace::name_of(kind); }

std::string describe(const PassKey& key) {
  return fmt::format("{} of microbatch {} on stage {}", pass_letter(key.kind), key.microbatch,
                     key.stage);
}

std::vector<PassTime> pass_times(std::span<const TimedPass> passes) {
  using StageKind = std::pair<std::uint32_t, trace::PassKind>;
  std::map<StageKind, std::vector<double>> lengths;
  std::map<StageKind, std::vector<double>> fused_lengths;
  const std::vector<bool> fused = fused_passes(passes);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    auto& pass_lengths = fused[i] ? fused_lengths : lengths;
    pass_lengths[{passes[i].key.stage, passes[i].key.kind}].push_back(passes[i].end -
                                                                      passes[i].start);
  }
  std::map<StageKind, bool> only_in_pairs;
  for (auto& [key, pair_lengths] : fused_lengths)
    if (lengths.count(key) == 0) {
      lengths[key] = std::move(pair_lengths);
      only_in_pairs[key] = true;
    }
  std::vector<PassTime> times;
  for (auto& [key, pass_lengths] : lengths) {
    times.push_back(time_of(key.first, key.second, std::move(pass_lengths)));
    times.back().only_in_pairs = only_in_pairs.count(key) != 0;
  }
  return times;
}

ReportColumns<PassKey> pass_columns() {
  return {{"stage", &PassKey::stage},
          {"kind", [](const PassKey& pass) { return pass_letter(pass.kind); }},
          {"microbatch", &PassKey::microbatch},
          {"iteration", &PassKey::iteration}};
}

}  // namespace pipewright::analysis
