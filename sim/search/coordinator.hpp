#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/search/bound_order.hpp"
#include "sim/search/messages.hpp"
#include "sim/search/task_board.hpp"

namespace pipewright::search {

// Where candidates come from.
struct Candidates {
  std::uint64_t total = 0;
  bool is_counted = true;  // else there may be more
  // Those that have no row; empty: no more. Where they are not counted, such as are like one that
  // is known to be good come soon.
  std::function<std::vector<std::uint64_t>(std::optional<std::uint64_t> promising)> next;
  std::function<std::uint32_t(std::uint64_t)> group;  // of a candidate
  // Candidates of equal ones share what the network takes; none: all do.
  std::function<std::uint64_t(std::uint64_t)> placement = {};
  // Whether it takes much longer than others to simulate; none: nobody does.
  std::function<bool(std::uint64_t)> is_slow = {};
  // Seconds that no candidate's iteration with this work is shorter than; none: not known.
  std::function<double(const analysis::IterationWork&)> floor_s = {};
};

// How far a search is.
struct State {
  enum class Phase : std::uint8_t {
    assessing,  // not all have a bound yet; those that may be best are simulated meanwhile
    best,       // those are simulated that may be better than the best so far
    front,      // likewise that may be on a front
    done
  };
  Phase phase = Phase::assessing;
  std::uint64_t total = 0;
  std::uint64_t assessed = 0;
  std::array<std::uint64_t, 6> outcomes{};  // how many have each; also open ones, until it is done
  std::uint64_t running = 0;                // tasks
  std::uint64_t still_needed = 0;           // to be simulated in this phase, at the most
  std::optional<std::size_t> best;          // its row
  double best_cost = 0;
  double least_open = 0;  // no candidate without a time costs less
  double gap = 1;         // nothing can be better than the best by more than this part
};

// Decides who works on what. Each candidate is assessed roughly; those that may still be the best,
// or on a front, are assessed more closely, and at last simulated, in the order of their bounds,
// until none that is left can be. Both go on side by side, so that good candidates are known soon.
// Knows no clock and no processes; seconds come from outside, and only grow.
class Coordinator {
 public:
  // Fills the rows of `run`. Those that it has are taken as they are, but for bounds that kept some
  // away: these are drawn anew.
  Coordinator(analysis::SearchRun& run, Candidates candidates, Aim aim);

  std::optional<Task> next(std::size_t worker, double now);
  // False if it is no answer to what the worker was asked, who then still has its task. One that
  // somebody else was faster with is well, and comes to nothing.
  bool answered(std::size_t worker, Answer answer, double now);
  void lost(std::size_t worker, const std::string& why);
  bool asked_about_all() const { return all_given_; }
  // Nothing is to be known of candidates that nobody was asked about yet.
  void leave_rest() { rest_is_left_ = all_given_ = true; }
  bool is_busy(std::size_t worker) const { return board_.is_busy(worker); }

  bool is_done();
  State state() const;
  // Rows whose outcome has become final since the last call. Those that are bounded away are so
  // only as conclude() says, and none of these.
  std::vector<analysis::CandidateRow> take_final();
  // Says how far the rows go, at any time, and puts them in order once nobody is asked any more.
  // Who is still open when the search is done was bounded away.
  void conclude();
  analysis::SearchRun so_far();  // a copy, in order

 private:
  using Work = TaskBoard::Work;

  std::optional<Work> next_work(double now);
  std::optional<Work> next_new();
  std::optional<Work> next_known();
  std::optional<Work> next_of_many(double now);
  std::optional<Work> next_promising(double now);
  Work work_on(std::size_t row);
  bool is_time_for_new(double now, double spent_on_known) const;
  void give_out(std::size_t row, Work& work);
  void take_assessed(const Work& work, std::vector<analysis::CandidateRow> rows);
  void take_simulated(std::size_t row, analysis::CandidateRow answer);
  void add_row(analysis::CandidateRow row);
  void fail(std::size_t row, const std::string& why);
  void give_up(const Work& work, const std::string& why);
  void set_outcome(analysis::CandidateRow& row, analysis::Outcome outcome);
  std::uint64_t placement_of(const analysis::CandidateRow& row) const;

  analysis::SearchRun& run_;
  Candidates candidates_;
  Aim aim_;
  TaskBoard board_;
  std::deque<Work> returned_;
  std::size_t workers_ = 0;  // that asked for work
  bool all_given_ = false;   // to be assessed
  bool rest_is_left_ = false;
  BoundOrder order_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> rows_of_;  // open, by placement
  std::vector<analysis::CandidateRow> final_;
  std::array<std::uint64_t, 6> outcomes_{};
  double bound_excess_ = 0;  // the largest part by which a bound was above its time, by our fault
  double least_unseen_ = std::numeric_limits<double>::infinity();  // cost of those without a row
  bool done_ = false;
};

}  // namespace pipewright::search
