#include "sim/search/bound_order.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::search {
namespace {

using analysis::Basis;

// Relative tolerance when a bound is compared with a simulated time: both add up the same seconds
// in different orders, so they differ by rounding.
constexpr double bound_rounding = 1e-9;

// Parts of the best cost below which a bound promises a better candidate. Bounds with the order of
// passes and all collectives are some percent below the simulated time, those without the
// collectives over replicas some ten percent.
constexpr double promise_of_order = 0.98;
constexpr double promise_of_network = 0.9;

double tolerant_bound(const analysis::CandidateRow& row) {
  return row.bound_s * (1 - bound_rounding);
}

}  // namespace

BoundOrder::Entry BoundOrder::entry(std::size_t row) const {
  const analysis::CandidateRow& candidate = run_.rows[row];
  return {analysis::cost(run_.objective, candidate.work, tolerant_bound(candidate),
                         candidate.peak_bytes),
          candidate.peak_bytes, candidate.candidate, row};
}

void BoundOrder::add(std::size_t row) {
  const analysis::Outcome outcome = run_.rows[row].outcome;
  if (outcome == analysis::Outcome::open) waiting_at(row).insert(entry(row));
  if (outcome == analysis::Outcome::simulated) simulated(row);
}

bool BoundOrder::is_needed(const Entry& entry) const {
  if (target_.exhaustive) return true;
  if (entry.cost <= runner_up_cost_ && std::isfinite(entry.cost)) return true;
  if (!target_.front) return false;
  const analysis::CandidateRow& row = run_.rows[entry.row];
  return row.group >= fronts_.size() ||
         !fronts_[row.group].dominates(row.peak_bytes,
                                       analysis::seconds_per_unit(row.work, tolerant_bound(row)));
}

bool BoundOrder::is_needed(std::size_t row) const { return is_needed(entry(row)); }

void BoundOrder::drop_losers() {
  const auto drop = [&](std::set<Entry>& entries) {
    while (!entries.empty() && !is_needed(*entries.begin())) entries.erase(entries.begin());
  };
  std::ranges::for_each(waiting_, drop);
  drop(assigned_);
}

const BoundOrder::Entry* BoundOrder::first_of(bool is_slow, Bases bases) const {
  const Entry* first = nullptr;
  for (const Basis basis : bases) {
    const std::set<Entry>& entries = waiting_[queue(basis, is_slow)];
    if (!entries.empty() && (first == nullptr || *entries.begin() < *first))
      first = &*entries.begin();
  }
  return first;
}

std::optional<std::size_t> BoundOrder::next() {
  drop_losers();
  for (const bool for_best : {true, false})
    for (const bool is_slow : {false, true}) {
      const Entry* const first = first_of(is_slow, {Basis::order, Basis::network, Basis::passes});
      if (first != nullptr && (!for_best || first->cost <= runner_up_cost_)) return first->row;
    }
  return std::nullopt;
}

std::optional<std::size_t> BoundOrder::next_to_refine() {
  drop_losers();
  for (const bool is_slow : {false, true})
    if (const Entry* const first = first_of(is_slow, {Basis::network, Basis::passes}))
      return first->row;
  return std::nullopt;
}

std::optional<std::size_t> BoundOrder::next_to_improve(double max_activities) {
  drop_losers();
  const bool is_slow = first_of(false, {Basis::order}) == nullptr;
  const Entry* const first = first_of(is_slow, {Basis::order});
  if (first == nullptr || !(first->cost < best_cost())) return std::nullopt;
  constexpr double near_factor = 1.25;
  constexpr std::size_t max_near = 256;
  const auto activities = [&](std::size_t row) { return run_.rows[row].activities; };
  std::size_t soonest = first->row;
  std::size_t visited = 0;
  for (const Entry& entry : waiting_[queue(Basis::order, is_slow)]) {
    if (!(entry.cost < best_cost()) || ++visited > 16 * max_near) break;
    // Once a candidate with a short simulation is found, stop at candidates whose bound is much
    // worse than that of the first.
    const bool is_near = entry.cost < near_factor * first->cost && visited <= max_near;
    if (!is_near && activities(soonest) <= max_activities) break;
    if (activities(entry.row) < activities(soonest)) soonest = entry.row;
  }
  return activities(soonest) <= max_activities ? std::optional(soonest) : std::nullopt;
}

std::optional<std::size_t> BoundOrder::next_to_try(double max_activities) {
  drop_losers();
  const Entry* first = nullptr;
  for (const auto& [basis, part] :
       {std::pair(Basis::order, promise_of_order), std::pair(Basis::network, promise_of_network)})
    for (const Entry& entry : waiting_[queue(basis, false)]) {
      if (!(entry.cost < part * best_cost()) || (first != nullptr && *first < entry)) break;
      const double activities = run_.rows[entry.row].activities;  // 0 without an order of passes
      if (activities == 0 || activities > max_activities) continue;
      first = &entry;
      break;
    }
  return first == nullptr ? std::nullopt : std::optional(first->row);
}

std::optional<std::size_t> BoundOrder::next_to_order() {
  drop_losers();
  const Entry* const first = first_of(false, {Basis::network});
  return first != nullptr && first->cost < promise_of_order * best_cost()
             ? std::optional(first->row)
             : std::nullopt;
}

std::optional<std::size_t> BoundOrder::promising() const {
  const Entry* const first = first_of(false, {Basis::order});
  if (first != nullptr && first->cost < best_cost()) return first->row;
  if (!ranked_.empty()) return best();
  const Entry* const rough = first_of(false, {Basis::network, Basis::passes});
  return rough == nullptr ? std::nullopt : std::optional(rough->row);
}

void BoundOrder::assign(std::size_t row) {
  const Entry assigned = entry(row);
  waiting_at(row).erase(assigned);
  assigned_.insert(assigned);
}

bool BoundOrder::is_settled() {
  drop_losers();
  const auto is_empty = [](const std::set<Entry>& entries) { return entries.empty(); };
  return std::ranges::all_of(waiting_, is_empty) && assigned_.empty();
}

void BoundOrder::take_back(std::size_t row) { assigned_.erase(entry(row)); }

void BoundOrder::simulated(std::size_t row) {
  const analysis::CandidateRow& added = run_.rows[row];
  if (added.group >= fronts_.size()) fronts_.resize(added.group + 1);
  fronts_[added.group].add(added.peak_bytes, analysis::seconds_per_unit(added.work, added.time_s));
  const double cost = analysis::cost(run_.objective, added.work, added.time_s, added.peak_bytes);
  if (!std::isfinite(cost)) return;
  ranked_.insert({cost, added.peak_bytes, added.candidate, row});
  if (cost > runner_up_cost_) return;
  const analysis::CandidateRow& best = run_.rows[ranked_.begin()->row];
  const auto runner_up = std::ranges::find_if(ranked_, [&](const Entry& entry) {
    return !analysis::are_equivalent(run_.rows[entry.row], best);
  });
  if (runner_up != ranked_.end()) runner_up_cost_ = runner_up->cost;
}

double BoundOrder::least_open() const {
  double least_cost = std::numeric_limits<double>::infinity();
  for (const std::set<Entry>& entries : waiting_)
    if (!entries.empty()) least_cost = std::min(least_cost, entries.begin()->cost);
  if (!assigned_.empty()) least_cost = std::min(least_cost, assigned_.begin()->cost);
  return least_cost;
}

bool BoundOrder::may_improve_best() const { return least_open() <= best_cost(); }

std::size_t BoundOrder::still_needed() const {
  std::size_t waiting = 0;
  std::size_t for_best = 0;
  for (const std::set<Entry>& entries : waiting_) {
    waiting += entries.size();
    for (const Entry& entry : entries) {
      if (entry.cost > runner_up_cost_) break;
      ++for_best;
    }
  }
  if (target_.exhaustive) return waiting;
  return for_best > 0 || !target_.front ? for_best : waiting;
}

}  // namespace pipewright::search
