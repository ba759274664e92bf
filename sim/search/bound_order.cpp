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
  for (std::set<Entry>* const entries : {&waiting_[0], &waiting_[1], &out_})
    while (!entries->empty() && !is_needed(*entries->begin())) entries->erase(entries->begin());
}

std::optional<std::size_t> BoundOrder::next() {
  pass_by_needless();
  for (const bool for_best : {true, false})
    for (const std::set<Entry>& entries : waiting_)
      if (!entries.empty() && (!for_best || entries.begin()->cost <= second_cost_))
        return entries.begin()->row;
  return std::nullopt;
}

void BoundOrder::give_out(std::size_t row) {
  const Entry of = entry(row);
  waiting_at(row).erase(of);
  out_.insert(of);
}

bool BoundOrder::is_settled() {
  pass_by_needless();
  return waiting_[0].empty() && waiting_[1].empty() && out_.empty();
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
  for (const std::set<Entry>* const open : {&waiting_[0], &waiting_[1], &out_})
    if (!open->empty()) least = std::min(least, open->begin()->cost);
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
