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

// What a search is to prove.
struct Aim {
  bool exhaustive = false;  // all that fit are simulated
  bool front = true;        // the fronts too, and not the best alone
};

// Whom to look at more closely, in the order of what candidates may cost at best: those that may be
// best or the runner-up so far, and after them those that may be on a front. Both only improve, so
// who is passed by once is out for good.
class BoundOrder {
 public:
  using IsSlow = std::function<bool(const analysis::CandidateRow&)>;

  // Of rows that are added, which may move, but keep their numbers. Slow ones come after all others
  // that are needed as much as they are.
  BoundOrder(const analysis::SearchRun& run, Aim aim, IsSlow is_slow = {})
      : run_(run), aim_(aim), is_slow_(std::move(is_slow)) {}

  void add(std::size_t row);  // open, or simulated
  // The first of those that are needed.
  std::optional<std::size_t> next();
  std::optional<std::size_t> next_to_refine();  // that do not rest on their order yet
  // The first of those that rest on their order, simulated or not; else of all.
  std::optional<std::size_t> promising() const;
  // Of those that are not simulated, but should be as good as their bounds, and better than the
  // best: one of the first that a simulation is soon done with, of no more than so many activities.
  std::optional<std::size_t> next_to_improve(double most_activities);
  bool is_waiting(std::size_t row) const { return waiting_at(row).contains(entry(row)); }
  void give_out(std::size_t row);         // one that waits
  void back(std::size_t row);             // one that was given out, while it is as it was then
  bool is_needed(std::size_t row) const;  // of one that was given out
  // Whether nobody is left who is needed, neither here nor among those that were given out.
  bool is_settled();

  std::optional<std::size_t> best() const {  // least cost, then memory, then number
    return ranked_.empty() ? std::nullopt : std::optional(ranked_.begin()->row);
  }
  double best_cost() const {  // infinite: none
    return ranked_.empty() ? std::numeric_limits<double>::infinity() : ranked_.begin()->cost;
  }
  double least_open() const;         // cost at best of all that have no time yet; infinite: none
  bool may_improve_best() const;     // else those left are for the fronts
  std::size_t still_needed() const;  // that were not given out; for the fronts: at the most

 private:
  struct Entry {
    double cost = 0;  // at best, of those without a time
    std::uint64_t bytes = 0;
    std::uint64_t candidate = 0;
    std::size_t row = 0;
    auto operator<=>(const Entry&) const = default;
  };
  Entry entry(std::size_t row) const;
  bool is_needed(const Entry& entry) const;
  void simulated(std::size_t row);
  void pass_by_needless();
  std::size_t line(std::size_t row) const {
    return (is_slow(row) ? 2 : 0) + (run_.rows[row].basis == analysis::Basis::order ? 1 : 0);
  }
  std::set<Entry>& waiting_at(std::size_t row) { return waiting_.at(line(row)); }
  const std::set<Entry>& waiting_at(std::size_t row) const { return waiting_.at(line(row)); }
  const Entry* first_of(std::initializer_list<std::size_t> lines) const;  // null: nobody waits
  bool is_slow(std::size_t row) const { return is_slow_ && is_slow_(run_.rows[row]); }

  const analysis::SearchRun& run_;
  Aim aim_;
  IsSlow is_slow_;
  // Those to be looked at closer, those to be simulated, and likewise slow ones.
  std::array<std::set<Entry>, 4> waiting_;
  std::set<Entry> out_;     // given out, without a time, and needed when last looked at
  std::set<Entry> ranked_;  // simulated, by cost
  double second_cost_ = std::numeric_limits<double>::infinity();  // of the runner-up
  std::vector<analysis::Front> fronts_;                           // by group
};

}  // namespace pipewright::search
