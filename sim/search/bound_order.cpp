#include "sim/search/bound_order.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::search {
namespace {

// Bounds and simulations add up the same seconds in different orders.
constexpr double rounding = 1e-9;

double at_best(const analysis::CandidateRow& row) { return row.bound_s * (1 - rounding); }

}  // namespace

BoundOrder::BoundOrder(const analysis::SearchRun& run, Aim aim) : run_(run), aim_(aim) {
  order_.reserve(static_cast<std::size_t>(
      std::ranges::count(run.rows, analysis::Outcome::open, &analysis::CandidateRow::outcome)));
  for (std::size_t row = 0; row < run.rows.size(); ++row) {
    if (run.rows[row].outcome == analysis::Outcome::open) order_.push_back(entry(row));
    if (run.rows[row].outcome == analysis::Outcome::simulated) simulated(row);
  }
  // Rows stand in the order of candidates.
  std::ranges::sort(order_);
}

BoundOrder::Entry BoundOrder::entry(std::size_t row) const {
  const analysis::CandidateRow& of = run_.rows[row];
  return {analysis::cost(run_.objective, of.work, at_best(of), of.peak_bytes), of.peak_bytes, row};
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
  while (head_ < order_.size() && !is_needed(order_[head_])) ++head_;
  while (!out_.empty() && !is_needed(*out_.begin())) out_.erase(out_.begin());
}

std::optional<std::size_t> BoundOrder::next() {
  pass_by_needless();
  if (head_ == order_.size()) return std::nullopt;
  out_.insert(order_[head_]);
  return order_[head_++].row;
}

bool BoundOrder::is_settled() {
  pass_by_needless();
  return head_ == order_.size() && out_.empty();
}

void BoundOrder::back(std::size_t row) { out_.erase(entry(row)); }

void BoundOrder::simulated(std::size_t row) {
  const analysis::CandidateRow& of = run_.rows[row];
  if (of.group >= fronts_.size()) fronts_.resize(of.group + 1);
  fronts_[of.group].add(of.peak_bytes, analysis::seconds_per_unit(of.work, of.time_s));
  const double cost = analysis::cost(run_.objective, of.work, of.time_s, of.peak_bytes);
  if (!std::isfinite(cost)) return;
  ranked_.insert({cost, of.peak_bytes, row});
  if (cost > second_cost_) return;
  const analysis::CandidateRow& best = run_.rows[ranked_.begin()->row];
  const auto second = std::ranges::find_if(
      ranked_, [&](const Entry& one) { return !analysis::are_twins(run_.rows[one.row], best); });
  if (second != ranked_.end()) second_cost_ = second->cost;
}

double BoundOrder::least_open() const {
  double least = std::numeric_limits<double>::infinity();
  if (head_ < order_.size()) least = order_[head_].cost;
  if (!out_.empty()) least = std::min(least, out_.begin()->cost);
  return least;
}

bool BoundOrder::may_improve_best() const { return least_open() <= best_cost(); }

std::size_t BoundOrder::still_needed() const {
  const auto head = order_.begin() + static_cast<std::ptrdiff_t>(head_);
  if (aim_.exhaustive || head == order_.end() || head->cost > second_cost_)
    return aim_.exhaustive || aim_.front ? static_cast<std::size_t>(order_.end() - head) : 0;
  const auto end = std::upper_bound(head, order_.end(), second_cost_,
                                    [](double cost, const Entry& of) { return cost < of.cost; });
  return static_cast<std::size_t>(end - head);
}

}  // namespace pipewright::search
