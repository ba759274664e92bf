#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/report/search/front.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::search {

// Target of a search: what it has to prove.
struct Target {
  bool exhaustive = false;  // every candidate that fits is simulated
  bool front = true;        // the fronts are proven, too, and not the best alone
};

// Candidates that may still win, ordered by lower bound: first those whose cost may be at most that
// of the runner-up, then those that may be on a front. A candidate that cannot win any more is
// dropped for good, as the best, the runner-up and the fronts only improve.
class BoundOrder {
 public:
  using IsSlow = std::function<bool(const analysis::CandidateRow&)>;

  // Orders rows of `run` by their index. Slow candidates come after all others that may win the
  // same.
  BoundOrder(const analysis::SearchRun& run, Target target, IsSlow is_slow = {})
      : run_(run), target_(target), is_slow_(std::move(is_slow)) {}

  void add(std::size_t row);  // a row that is open or simulated
  // The first candidate that may still win.
  std::optional<std::size_t> next();
  // The first candidate whose bound does not rest on the order of its passes yet.
  std::optional<std::size_t> next_to_refine();
  // The candidate that looks best: the first whose bound rests on the order of its passes if it may
  // beat the best, else the best, else the first of all.
  std::optional<std::size_t> promising() const;
  // A candidate that is not simulated, whose bound beats the best, and whose simulation is short:
  // of at most `max_activities`.
  std::optional<std::size_t> next_to_improve(double max_activities);
  bool is_waiting(std::size_t row) const { return waiting_at(row).contains(entry(row)); }
  void assign(std::size_t row);           // a waiting row; a worker has it now
  void take_back(std::size_t row);        // an assigned row, before it changes
  bool is_needed(std::size_t row) const;  // whether an assigned row may still win
  // Returns whether no waiting or assigned row may still win.
  bool is_settled();

  // The simulated row of least cost, then memory, then number.
  std::optional<std::size_t> best() const {
    return ranked_.empty() ? std::nullopt : std::optional(ranked_.begin()->row);
  }
  double best_cost() const {  // infinite if no row is simulated
    return ranked_.empty() ? std::numeric_limits<double>::infinity() : ranked_.begin()->cost;
  }
  double least_open() const;      // least bound of the rows that have no time; infinite if none
  bool may_improve_best() const;  // false: the rows that are left may only be on a front
  // Waiting rows that may still win; an upper bound if they may only be on a front.
  std::size_t still_needed() const;

 private:
  struct Entry {
    double cost = 0;  // lower bound for a row without a time
    std::uint64_t bytes = 0;
    std::uint64_t candidate = 0;
    std::size_t row = 0;
    auto operator<=>(const Entry&) const = default;
  };
  Entry entry(std::size_t row) const;
  bool is_needed(const Entry& entry) const;
  void simulated(std::size_t row);
  void drop_losers();
  std::size_t queue(std::size_t row) const {
    return (is_slow(row) ? 2 : 0) + (run_.rows[row].basis == analysis::Basis::order ? 1 : 0);
  }
  std::set<Entry>& waiting_at(std::size_t row) { return waiting_.at(queue(row)); }
  const std::set<Entry>& waiting_at(std::size_t row) const { return waiting_.at(queue(row)); }
  const Entry* first_of(std::initializer_list<std::size_t> queues) const;  // null if all are empty
  bool is_slow(std::size_t row) const { return is_slow_ && is_slow_(run_.rows[row]); }

  const analysis::SearchRun& run_;
  Target target_;
  IsSlow is_slow_;
  // Queues by queue(): rows to be assessed more closely, rows to be simulated, and the same for
  // slow candidates.
  std::array<std::set<Entry>, 4> waiting_;
  std::set<Entry> assigned_;  // rows without a time that workers have
  std::set<Entry> ranked_;    // simulated rows, by cost
  double runner_up_cost_ = std::numeric_limits<double>::infinity();
  std::vector<analysis::Front> fronts_;  // by group
};

}  // namespace pipewright::search
