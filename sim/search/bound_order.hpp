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

// Target of a search: the results that it has to prove before it ends.
struct Target {
  bool exhaustive = false;  // every candidate that fits is simulated
  bool front = true;        // the fronts are proven, too, and not the best alone
};

// Queues of candidates that may still be the best or on a front, ordered by the lower bound of
// their cost: first those whose cost may be at most that of the runner-up, then those that may be
// on a front. A candidate that cannot win any more is dropped for good, as the best, the runner-up
// and the fronts only improve.
class BoundOrder {
 public:
  using IsSlow = std::function<bool(const analysis::CandidateRow&)>;

  // Orders rows of `run`, which calls name by their index. Slow candidates come after all others
  // that may win in the same way: be the best, or be on a front.
  BoundOrder(const analysis::SearchRun& run, Target target, IsSlow is_slow = {})
      : run_(run), target_(target), is_slow_(std::move(is_slow)) {}

  void add(std::size_t row);  // a row that is open or simulated
  // Returns the waiting row that should be worked on next: the one with the lowest bound that may
  // still win; nothing if there is none.
  std::optional<std::size_t> next();
  // Returns the first waiting row whose bound was computed without regard to the order of its
  // passes, so that a closer bound can be computed.
  std::optional<std::size_t> next_to_refine();
  // Returns the row that looks best: the first waiting row whose bound takes the order of its
  // passes into account, if this bound beats the best simulated row; else the best simulated row;
  // else the first waiting row with a rougher bound.
  std::optional<std::size_t> promising() const;
  // Returns a waiting row whose bound beats the best simulated row and whose simulation has at most
  // `max_activities` activities.
  std::optional<std::size_t> next_to_improve(double max_activities);
  // Returns the first waiting row whose order of passes is known and may well beat the best
  // simulated row, and whose simulation has at most `max_activities` activities.
  std::optional<std::size_t> next_to_try(double max_activities);
  // Returns the first waiting row whose bound includes the network but not the order of its passes
  // with all collectives, if this row may be better than the best simulated row.
  std::optional<std::size_t> next_to_order();
  bool is_waiting(std::size_t row) const { return waiting_at(row).contains(entry(row)); }
  void assign(std::size_t row);           // a waiting row; a worker has it now
  void take_back(std::size_t row);        // an assigned row, before it changes
  bool is_needed(std::size_t row) const;  // whether an assigned row may still win
  // Returns whether the search is decided: none of the rows without a simulation may still win.
  bool is_settled();

  // The best simulated row: the one of least cost; of those, the one of least memory; of those, the
  // one with the lowest candidate number.
  std::optional<std::size_t> best() const {
    return ranked_.empty() ? std::nullopt : std::optional(ranked_.begin()->row);
  }
  double best_cost() const {  // infinite if no row is simulated
    return ranked_.empty() ? std::numeric_limits<double>::infinity() : ranked_.begin()->cost;
  }
  // least lower bound of the cost of rows without a time; infinite if none
  double least_open() const;
  bool may_improve_best() const;  // false: the rows that are left may only be on a front
  // Returns the number of waiting rows that may still win. While rows may only be on a front, it
  // counts all of them and is an upper bound.
  std::size_t still_needed() const;

 private:
  struct Entry {
    double cost = 0;  // lower bound of the cost for a row without a time
    std::uint64_t bytes = 0;
    std::uint64_t candidate = 0;
    std::size_t row = 0;
    auto operator<=>(const Entry&) const = default;
  };
  Entry entry(std::size_t row) const;
  bool is_needed(const Entry& entry) const;
  void simulated(std::size_t row);
  void drop_losers();
  static constexpr std::size_t bases = 3;
  static constexpr std::size_t queue(analysis::Basis basis, bool is_slow) {
    return (is_slow ? bases : 0) + static_cast<std::size_t>(basis);
  }
  std::size_t queue(std::size_t row) const { return queue(run_.rows[row].basis, is_slow(row)); }
  std::set<Entry>& waiting_at(std::size_t row) { return waiting_.at(queue(row)); }
  const std::set<Entry>& waiting_at(std::size_t row) const { return waiting_.at(queue(row)); }
  using Bases = std::initializer_list<analysis::Basis>;
  // Returns the first entry whose bound is on one of these bases; null if there is none.
  const Entry* first_of(bool is_slow, Bases bases) const;
  bool is_slow(std::size_t row) const { return is_slow_ && is_slow_(run_.rows[row]); }

  const analysis::SearchRun& run_;
  Target target_;
  IsSlow is_slow_;
  // Waiting rows by the number that queue() returns: by the basis of their bounds, first those of
  // candidates that are not slow.
  std::array<std::set<Entry>, 2 * bases> waiting_;
  std::set<Entry> assigned_;  // rows without a time that workers have
  std::set<Entry> ranked_;    // simulated rows, by cost
  double runner_up_cost_ = std::numeric_limits<double>::infinity();
  std::vector<analysis::Front> fronts_;  // by group
};

}  // namespace pipewright::search
