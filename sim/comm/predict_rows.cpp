#include "sim/comm/predict_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace pipewright::comm {
namespace {

using analysis::Measurement;

using SettingKey = std::tuple<Operation, std::uint32_t, std::uint32_t>;
SettingKey key_of(const Measurement& row) { return {row.operation, row.ranks, row.nodes}; }

}  // namespace

BenchmarkRun run_of(const cluster::Cluster& cluster, const Measurement& row, Algorithm algorithm) {
  try {
    return one_group(cluster, row.operation, row.ranks, row.nodes, algorithm);
  } catch (const cluster::Error& error) {
    throw cluster::Error(fmt::format("{}:{}: {}", row.file, row.line, error.what()));
  }
}

std::vector<analysis::ComparedRow> predict_rows(cluster::Cluster& cluster,
                                                std::span<const Measurement> rows,
                                                Algorithm algorithm, const RowsDone& done) {
  struct Asked {
    BenchmarkRun run;
    std::map<std::uint64_t, Prediction> by_bytes;
  };
  std::map<SettingKey, Asked> asked;
  for (const Measurement& row : rows)
    if (!asked.contains(key_of(row)))
      asked.emplace(key_of(row), Asked{run_of(cluster, row, algorithm), {}});
  std::vector<analysis::ComparedRow> predicted;
  for (const Measurement& row : rows) {
    auto& [run, by_bytes] = asked.at(key_of(row));
    auto found = by_bytes.find(row.bytes);
    if (found == by_bytes.end())
      found = by_bytes.emplace(row.bytes, simulate(cluster, run, row.bytes)).first;
    predicted.push_back({.measured = row,
                         .predicted = found->second.seconds,
                         .by = found->second.by,
                         .held_out = false});
    if (done) done(predicted.size(), rows.size());
  }
  return predicted;
}

std::vector<analysis::CurvePoint> predict_between(const cluster::Cluster& cluster,
                                                  const analysis::ComparedCurve& curve,
                                                  Algorithm algorithm) {
  constexpr double step = 1.0 / 8;  // of a doubling
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (const analysis::ComparedRow& row : curve.rows)
    if (row.measured.bytes > 0) {
      least = std::min(least, row.measured.bytes);
      most = std::max(most, row.measured.bytes);
    }
  std::vector<analysis::CurvePoint> points;
  if (most == 0) return points;
  const Formula formula(run_of(cluster, curve.rows.front().measured, algorithm));
  const double end = std::log2(static_cast<double>(most));
  for (double power = std::log2(static_cast<double>(least)); power < end; power += step) {
    const auto bytes = static_cast<std::uint64_t>(std::llround(std::exp2(power)));
    if (points.empty() || bytes > points.back().bytes)
      points.push_back({bytes, formula.seconds(bytes)});
  }
  points.push_back({most, formula.seconds(most)});
  return points;
}

}  // namespace pipewright::comm
