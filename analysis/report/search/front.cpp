#include "analysis/report/search/front.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

namespace pipewright::analysis {
namespace {

std::vector<std::size_t> simulated_rows(const SearchRun& run) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    if (run.rows[i].outcome == Outcome::simulated) rows.push_back(i);
  return rows;
}

}  // namespace

bool Front::dominates(std::uint64_t peak_bytes, double seconds) const {
  const auto above = seconds_by_bytes_.upper_bound(peak_bytes);
  if (above == seconds_by_bytes_.begin()) return false;
  // The fastest point of the front among those that need no more memory than the given one.
  const auto& [least_bytes, least_seconds] = *std::prev(above);
  return least_seconds < seconds || (least_seconds == seconds && least_bytes < peak_bytes);
}

void Front::add(std::uint64_t peak_bytes, double seconds) {
  if (dominates(peak_bytes, seconds)) return;
  auto next = seconds_by_bytes_.insert_or_assign(peak_bytes, seconds).first;
  ++next;
  while (next != seconds_by_bytes_.end() && next->second >= seconds)
    next = seconds_by_bytes_.erase(next);
}

std::vector<std::size_t> pareto_front(const SearchRun& run, std::uint32_t group) {
  std::vector<std::size_t> rows = simulated_rows(run);
  std::erase_if(rows, [&](std::size_t i) { return run.rows[i].group != group; });
  const auto seconds = [&](std::size_t i) {
    return seconds_per_unit(run.rows[i].work, run.rows[i].time_s);
  };
  std::ranges::sort(rows, {}, [&](std::size_t i) {
    return std::tuple(run.rows[i].peak_bytes, seconds(i), run.rows[i].candidate);
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : rows)
    if (front.empty() || seconds(i) < seconds(front.back())) front.push_back(i);
  return front;
}

bool are_equivalent(const CandidateRow& lhs, const CandidateRow& rhs) {
  constexpr double rounding = 1e-12;  // relative to the iteration time
  const IterationWork& work = lhs.work;
  const bool is_same_work = work.gpus == rhs.work.gpus && work.samples == rhs.work.samples &&
                            work.tokens == rhs.work.tokens && work.lost_part == rhs.work.lost_part;
  return is_same_work && std::abs(lhs.time_s - rhs.time_s) <= rounding * rhs.time_s &&
         lhs.peak_bytes == rhs.peak_bytes;
}

std::vector<std::size_t> ranking(const SearchRun& run) {
  using Key = std::tuple<double, std::uint64_t, std::uint64_t, std::size_t>;
  std::vector<Key> keys;
  for (const std::size_t i : simulated_rows(run)) {
    const CandidateRow& row = run.rows[i];
    keys.emplace_back(cost(run.objective, row.work, row.time_s, row.peak_bytes), row.peak_bytes,
                      row.candidate, i);
  }
  std::ranges::sort(keys);
  std::vector<std::size_t> rows;
  rows.reserve(keys.size());
  for (const Key& key : keys) rows.push_back(std::get<3>(key));
  return rows;
}

}  // namespace pipewright::analysis
