#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/search/bound_order.hpp"
#include "sim/search/messages.hpp"
#include "sim/search/task_board.hpp"

namespace pipewright::search {

// Source of the candidates that a search assigns to workers.
struct Candidates {
  std::uint64_t total = 0;
  bool is_counted = true;  // false: there may be more candidates than `total`
  // Returns the next candidates that have no row yet; an empty list means that there are no more.
  // In a sweep that is too large to count, candidates that resemble `promising` come early.
  std::function<std::vector<std::uint64_t>(std::optional<std::uint64_t> promising)> next;
  std::function<std::uint32_t(std::uint64_t candidate)> group;
  // Number of a candidate's placement. Candidates of the same placement share the network costs of
  // their bounds. Empty: all candidates have the same placement.
  std::function<std::uint64_t(std::uint64_t candidate)> placement = {};
  // Tells whether simulating a candidate takes much longer than others. Empty: no candidate does.
  std::function<bool(std::uint64_t candidate)> is_slow = {};
  // Lower bound on the seconds of one iteration of any candidate, given the work of the iteration.
  // Empty: unknown.
  std::function<double(const analysis::IterationWork&)> floor_s = {};
};

// Progress of a search, as it is shown to users.
struct State {
  enum class Phase : std::uint8_t {
    assessing,  // some candidates have no bound yet; promising ones are simulated meanwhile
    best,       // candidates that may beat the best are simulated
    front,      // candidates that may be on a front are simulated
    done
  };
  static constexpr std::array<std::string_view, 4> phase_names{"bounds", "best", "front", "done"};
  Phase phase = Phase::assessing;
  std::uint64_t total = 0;
  std::uint64_t assessed = 0;
  std::array<std::uint64_t, 6> outcomes{};  // candidates by outcome
  std::uint64_t running = 0;                // tasks
  std::uint64_t still_needed = 0;           // upper bound of the simulations left in this phase
  std::optional<std::size_t> best;          // row of the best candidate
  double best_cost = 0;
  double least_open = 0;  // lower bound of the cost of candidates without a time
  double gap = 1;         // upper bound of the relative improvement over the best
};

// Decides which worker does what. Every candidate gets a rough lower bound of its iteration time.
// Those that may still be the best or on a front get closer bounds and are finally simulated, in
// the order of their bounds, until no other candidate can win. Bounds and simulations run at the
// same time, so that good candidates are known early. The class has no clock and no processes:
// callers pass the time in seconds, which never decreases.
class Coordinator {
 public:
  // Adds rows to `run`. Rows that it already has are kept, except that candidates whose outcome was
  // bounded_away become open again.
  Coordinator(analysis::SearchRun& run, Candidates candidates, Target target);

  // Returns the next task of an idle worker, if there is one.
  std::optional<Task> next(std::size_t worker, double now);
  // Takes the answer of a worker. Returns false for an answer that does not fit the worker's task,
  // which the worker then still has. A late duplicate answer is accepted and ignored.
  bool take_answer(std::size_t worker, Answer answer, double now);
  // Handles the loss of a worker: its task is given to another one.
  void lose_worker(std::size_t worker, const std::string& why);
  // Stops assigning candidates that have no bound yet.
  void stop_assigning() { is_stopped_ = all_assigned_ = true; }
  bool is_busy(std::size_t worker) const { return board_.is_busy(worker); }

  bool is_done();
  State state() const;
  // Returns the rows whose outcome has become final since the last call, such as simulated or
  // failed ones. Rows that are bounded away are not among them: only conclude() decides that.
  std::vector<analysis::CandidateRow> take_final();
  // Completes the run once no worker has a task: sets its optimality gap, sorts its rows, and marks
  // the rows that are still open as bounded away if the search is done.
  void conclude();
  analysis::SearchRun snapshot();  // a copy of the unfinished run, with its rows in order

 private:
  using Work = TaskBoard::Work;

  std::optional<Work> next_work(double now);
  std::optional<Work> next_new();
  std::optional<Work> next_known();
  std::optional<Work> next_in_large_space(double now);
  std::optional<Work> next_promising(double now);
  std::optional<Work> next_early(double now);
  Work make_work(std::size_t row);
  bool has_time_for_new(double now, double spent_on_known) const;
  void assign(std::size_t row, Work& work);
  void take_bounds(const Work& work, std::vector<analysis::CandidateRow> rows);
  void take_result(std::size_t row, analysis::CandidateRow answer);
  void add_row(analysis::CandidateRow row);
  void fail(std::size_t row, const std::string& why);
  void split_or_fail(const Work& work, const std::string& why);
  void set_outcome(analysis::CandidateRow& row, analysis::Outcome outcome);
  std::uint64_t placement_of(const analysis::CandidateRow& row) const;

  analysis::SearchRun& run_;
  Candidates candidates_;
  Target target_;
  TaskBoard board_;
  std::deque<Work> returned_;
  std::size_t workers_ = 0;    // workers that have asked for work
  bool all_assigned_ = false;  // every candidate was given to a worker to assess
  bool is_stopped_ = false;    // candidates that were not assigned are left out
  BoundOrder order_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> open_rows_;  // by placement
  std::vector<analysis::CandidateRow> final_;
  std::array<std::uint64_t, 6> outcomes_{};
  double bound_excess_ = 0;  // largest relative excess of a bound over the time: an error of ours
  double least_unseen_ = std::numeric_limits<double>::infinity();  // cost of candidates without row
  bool done_ = false;
};

}  // namespace pipewright::search
