#include "sim/search/bound_order.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::search {
namespace {

// Bounds and simulations add up the same seconds in different orders.
constexpr double rounding = 1e-9;

double at_best(const analysis::CandidateRow& row) { return row.bound_s * (1 - rounding); }

}  // namespace

BoundOrder::Entry BoundOrder::entry(std::size_t row) const {
  const analysis::CandidateRow& of = run_.rows[row];
  return {analysis::cost(run_.objective, of.work, at_best(of), of.peak_bytes), of.peak_bytes,
          of.candidate, row};
}

void BoundOrder::add(std::size_t row) {
  const analysis::Outcome outcome = run_.rows[row].outcome;
  if (outcome == analysis::Outcome::open) waiting_at(row).insert(entry(row));
  if (outcome == analysis::Outcome::simulated) simulated(row);
}

bool BoundOrder::is_needed(const Entry& entry) const {
  if (aim_.exhaustive) return true;
  if (entry.cost <= second_cost_ && std::isfinite(entry.cost)) return true;
  if (!aim_.front) return false;
  const analysis::CandidateRow& row = run_.rows[entry.row];
  return row.group >= fronts_.size() ||
         !fronts_[row.group].dominates(row.peak_bytes,
                                       analysis::seconds_per_unit(row.work, at_best(row)));
}

bool BoundOrder::is_needed(std::size_t row) const { return is_needed(entry(row)); }

void BoundOrder::pass_by_needless() {
  const auto pass_by = [&](std::set<Entry>& entries) {
    while (!entries.empty() && !is_needed(*entries.begin())) entries.erase(entries.begin());
  };
  std::ranges::for_each(waiting_, pass_by);
  pass_by(out_);
}

const BoundOrder::Entry* BoundOrder::first_of(std::initializer_list<std::size_t> lines) const {
  const Entry* first = nullptr;
  for (const std::size_t line : lines)
    if (!waiting_[line].empty() && (first == nullptr || *waiting_[line].begin() < *first))
      first = &*waiting_[line].begin();
  return first;
}

std::optional<std::size_t> BoundOrder::next() {
  pass_by_needless();
  for (const bool for_best : {true, false})
    for (const Entry* const first : {first_of({0, 1}), first_of({2, 3})})
      if (first != nullptr && (!for_best || first->cost <= second_cost_)) return first->row;
  return std::nullopt;
}

std::optional<std::size_t> BoundOrder::next_to_refine() {
  pass_by_needless();
  const Entry* const fast = first_of({0});
  const Entry* const first = fast != nullptr ? fast : first_of({2});
  return first == nullptr ? std::nullopt : std::optional(first->row);
}

std::optional<std::size_t> BoundOrder::next_to_improve(double most_activities) {
  pass_by_needless();
  const Entry* const fast = first_of({1});
  const Entry* const first = fast != nullptr ? fast : first_of({3});
  if (first == nullptr || !(first->cost < best_cost())) return std::nullopt;
  constexpr double nearly = 1.25;
  constexpr std::size_t most = 256;
  const auto activities = [&](std::size_t row) { return run_.rows[row].activities; };
  std::size_t soonest = first->row;
  std::size_t looked_at = 0;
  for (const Entry& one : waiting_[fast != nullptr ? 1 : 3]) {
    if (!(one.cost < best_cost()) || ++looked_at > 16 * most) break;
    // Far behind the first, as good as any is one that comes in time.
    const bool is_near = one.cost < nearly * first->cost && looked_at <= most;
    if (!is_near && activities(soonest) <= most_activities) break;
    if (activities(one.row) < activities(soonest)) soonest = one.row;
  }
  return activities(soonest) <= most_activities ? std::optional(soonest) : std::nullopt;
}

std::optional<std::size_t> BoundOrder::promising() const {
  const Entry* const first = first_of({1});
  if (first != nullptr && first->cost < best_cost()) return first->row;
  if (!ranked_.empty()) return best();
  const Entry* const rough = first_of({0});
  return rough == nullptr ? std::nullopt : std::optional(rough->row);
}

void BoundOrder::give_out(std::size_t row) {
  const Entry of = entry(row);
  waiting_at(row).erase(of);
  out_.insert(of);
}

bool BoundOrder::is_settled() {
  pass_by_needless();
  const auto is_empty = [](const std::set<Entry>& entries) { return entries.empty(); };
  return std::ranges::all_of(waiting_, is_empty) && out_.empty();
}

void BoundOrder::back(std::size_t row) { out_.erase(entry(row)); }

void BoundOrder::simulated(std::size_t row) {
  const analysis::CandidateRow& of = run_.rows[row];
  if (of.group >= fronts_.size()) fronts_.resize(of.group + 1);
  fronts_[of.group].add(of.peak_bytes, analysis::seconds_per_unit(of.work, of.time_s));
  const double cost = analysis::cost(run_.objective, of.work, of.time_s, of.peak_bytes);
  if (!std::isfinite(cost)) return;
  ranked_.insert({cost, of.peak_bytes, of.candidate, row});
  if (cost > second_cost_) return;
  const analysis::CandidateRow& best = run_.rows[ranked_.begin()->row];
  const auto second = std::ranges::find_if(
      ranked_, [&](const Entry& one) { return !analysis::are_twins(run_.rows[one.row], best); });
  if (second != ranked_.end()) second_cost_ = second->cost;
}

double BoundOrder::least_open() const {
  double least = std::numeric_limits<double>::infinity();
  if (const Entry* const first = first_of({0, 1, 2, 3})) least = first->cost;
  if (!out_.empty()) least = std::min(least, out_.begin()->cost);
  return least;
}

bool BoundOrder::may_improve_best() const { return least_open() <= best_cost(); }

std::size_t BoundOrder::still_needed() const {
  std::size_t all = 0;
  std::size_t for_best = 0;
  for (const std::set<Entry>& entries : waiting_) {
    all += entries.size();
    for (const Entry& entry : entries) {
      if (entry.cost > second_cost_) break;
      ++for_best;
    }
  }
  if (aim_.exhaustive) return all;
  return for_best > 0 || !aim_.front ? for_best : all;
}

}  // namespace pipewright::search
