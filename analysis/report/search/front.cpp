#include "analysis/report/search/front.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

namespace pipewright::analysis {
namespace {

std::vector<std::size_t> simulated(const SearchRun& run) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    if (run.rows[i].outcome == Outcome::simulated) rows.push_back(i);
  return rows;
}

}  // namespace

bool Front::dominates(std::uint64_t peak_bytes, double seconds) const {
  const auto above = least_.upper_bound(peak_bytes);
  if (above == least_.begin()) return false;
  const auto& [bytes, least] = *std::prev(above);  // the fastest of all that hold no more
  return least < seconds || (least == seconds && bytes < peak_bytes);
}

void Front::add(std::uint64_t peak_bytes, double seconds) {
  if (dominates(peak_bytes, seconds)) return;
  auto next = least_.insert_or_assign(peak_bytes, seconds).first;
  ++next;
  while (next != least_.end() && next->second >= seconds) next = least_.erase(next);
}

std::vector<std::size_t> pareto_front(const SearchRun& run, std::uint32_t group) {
  std::vector<std::size_t> rows = simulated(run);
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

bool are_twins(const CandidateRow& one, const CandidateRow& other) {
  constexpr double rounding = 1e-12;  // of an iteration
  const IterationWork& work = one.work;
  const bool do_the_same = work.gpus == other.work.gpus && work.samples == other.work.samples &&
                           work.tokens == other.work.tokens &&
                           work.lost_part == other.work.lost_part;
  return do_the_same && std::abs(one.time_s - other.time_s) <= rounding * other.time_s &&
         one.peak_bytes == other.peak_bytes;
}

std::vector<std::size_t> ranking(const SearchRun& run) {
  using Key = std::tuple<double, std::uint64_t, std::uint64_t, std::size_t>;
  std::vector<Key> keys;
  for (const std::size_t i : simulated(run)) {
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
