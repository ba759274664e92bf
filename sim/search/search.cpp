#include "sim/search/search.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/search/results.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/trace/error.hpp"
#include "sim/search/batches.hpp"
#include "sim/search/journal.hpp"
#include "sim/search/messages.hpp"
#include "sim/search/worker_pool.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;

analysis::SearchRun description_of(const Space& space) {
  analysis::SearchRun run;
  run.title = space.sweep().title;
  run.sweep = space.sweep().text;
  run.axes = space.axes();
  run.groups = space.groups();
  run.objective = space.sweep().objective;
  run.combinations = space.combinations();
  return run;
}

// Typical time of a task in seconds: a rough bound of a candidate takes a millisecond, a bound with
// the costs of the network or with the order of passes ten, and a simulation half a second.
double typical_seconds(const Task& task) {
  constexpr double rough_bound = 1e-3;
  constexpr double close_bound = 10e-3;
  constexpr double simulation = 0.5;
  if (task.kind == Task::Kind::simulate) return simulation;
  const bool is_rough = task.basis == analysis::Basis::passes;
  return static_cast<double>(task.candidates.size()) * (is_rough ? rough_bound : close_bound);
}

class RunningSearch {
 public:
  RunningSearch(const Space& space, Workers& workers, const SearchOptions& options,
                const SearchCalls& calls);

  analysis::SearchRun run();

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }
  // Time that the coordinator divides between kinds of work. A single worker counts each task with
  // its typical time, so that a search on one worker simulates the same candidates each time.
  double coordinator_time() const { return workers_ == 1 ? typical_s_ : now(); }
  void open_files();
  void take_earlier_rows();
  // Returns whether this share of the time budget is spent, or the search is interrupted.
  bool is_spent(double part) const;
  void work(Coordinator& coordinator, const Batches& batches);
  void assign_tasks(Coordinator& coordinator);
  void take(Coordinator& coordinator, const Workers::Event& event);
  void store(const std::vector<CandidateRow>& rows);
  void write_results_periodically(Coordinator& coordinator);

  using Clock = std::chrono::steady_clock;

  const Space& space_;
  const SearchOptions& options_;
  const SearchCalls& calls_;
  analysis::SearchRun run_;
  std::unique_ptr<Journal> journal_;  // null without a file of results
  WorkerPool pool_;
  Clock::time_point began_ = Clock::now();
  std::size_t workers_;
  double typical_s_ = 0;          // typical time of all tasks assigned so far
  std::uint64_t stored_ = 0;      // rows that this search has stored
  std::uint64_t next_write_ = 1;  // number of stored rows at which results are written next
  double written_at_ = 0;         // seconds
};

RunningSearch::RunningSearch(const Space& space, Workers& workers, const SearchOptions& options,
                             const SearchCalls& calls)
    : space_(space),
      options_(options),
      calls_(calls),
      run_(description_of(space)),
      pool_(workers, to_line(Handshake{space.sweep().text, options.facts})),
      workers_(workers.count()) {
  run_.shard = {space.sweep().shard.number, space.sweep().shard.count};
  run_.fronts = options.target.front || options.target.exhaustive;
  run_.rows = options.known;
  if (options.results) open_files();
}

void RunningSearch::open_files() {
  std::filesystem::path path = *options_.results;
  path += ".journal";
  journal_ = std::make_unique<Journal>(path, SearchIdentity{run_.sweep, run_.axes});
  try {
    if (options_.resume)
      take_earlier_rows();
    else
      journal_->check_empty();
  } catch (...) {
    if (journal_->is_new()) journal_->remove();
    throw;
  }
}

// Throws trace::TraceError.
void RunningSearch::take_earlier_rows() {
  std::vector<CandidateRow> known_rows = std::exchange(run_.rows, {});
  run_.rows = earlier_rows(*options_.results, *journal_, {run_.sweep, run_.axes});
  for (const CandidateRow& row : run_.rows)
    if (static_cast<double>(row.candidate) >= space_.combinations() ||
        row.group != space_.group(row.candidate / space_.schedules()))
      throw trace::TraceError(fmt::format("{}: candidate {} is not a combination of this sweep",
                                          options_.results->string(), row.candidate));
  // A candidate whose simulation was killed or took too long in an earlier run is tried again.
  std::erase_if(run_.rows,
                [](const CandidateRow& row) { return row.outcome == analysis::Outcome::failed; });
  // Stored results do not say how close a bound is, so it counts as the least accurate kind.
  for (CandidateRow& row : run_.rows)
    if (row.outcome == analysis::Outcome::open || row.outcome == analysis::Outcome::bounded_away)
      row.basis = analysis::Basis::passes;
  std::erase_if(known_rows, [&](const CandidateRow& row) {
    return std::ranges::binary_search(run_.rows, row.candidate, {}, &CandidateRow::candidate);
  });
  std::ranges::move(known_rows, std::back_inserter(run_.rows));
  std::ranges::sort(run_.rows, {}, &CandidateRow::candidate);
}

void RunningSearch::store(const std::vector<CandidateRow>& rows) {
  if (journal_) journal_->append(rows);
  stored_ += rows.size();
}

void RunningSearch::assign_tasks(Coordinator& coordinator) {
  while (const std::optional<std::size_t> worker = pool_.claim_idle()) {
    const std::optional<Task> task = coordinator.next(*worker, coordinator_time());
    if (!task) return pool_.release(*worker);
    typical_s_ += typical_seconds(*task);
    pool_.send(*worker, to_line(*task));
  }
}

void RunningSearch::take(Coordinator& coordinator, const Workers::Event& event) {
  if (event.kind == Workers::Event::Kind::lost)
    return coordinator.lose_worker(event.worker, event.text);
  try {
    if (coordinator.take_answer(event.worker, read_answer(event.text), coordinator_time()))
      return pool_.release(event.worker);
  } catch (const std::runtime_error&) {
    // A line that cannot be parsed is treated like an answer that does not fit the task.
  }
  coordinator.lose_worker(event.worker, "its answer did not fit its task");
  pool_.dismiss(event.worker);
}

// Writes the results while the search is running, so that users can look at them. If the program is
// killed, the journal has all finished candidates anyway.
void RunningSearch::write_results_periodically(Coordinator& coordinator) {
  constexpr double pause = 30;  // seconds
  if (!options_.results || stored_ < next_write_ || now() - written_at_ < pause) return;
  analysis::write_results(*options_.results, coordinator.snapshot());
  next_write_ = 2 * stored_;
  written_at_ = now();
}

bool RunningSearch::is_spent(double part) const {
  return (calls_.interrupted && calls_.interrupted()) ||
         (options_.budget_s && now() > part * *options_.budget_s);
}

void RunningSearch::work(Coordinator& coordinator, const Batches& batches) {
  constexpr double poll_interval = 0.1;  // seconds
  double shown = -poll_interval;
  while (!coordinator.is_done()) {
    if (calls_.interrupted && calls_.interrupted()) return;
    const double left = options_.budget_s ? *options_.budget_s - now() : poll_interval;
    if (left <= 0) return;
    assign_tasks(coordinator);
    if (batches.is_cut_short()) coordinator.stop_assigning();
    for (const Workers::Event& event : pool_.wait(std::min(left, poll_interval)))
      take(coordinator, event);
    store(coordinator.take_final());
    if (calls_.progress && now() >= shown + poll_interval) {
      calls_.progress(coordinator.state(), run_);
      shown = now();
    }
    write_results_periodically(coordinator);
  }
}

analysis::SearchRun RunningSearch::run() {
  std::vector<std::uint64_t> known_rows;
  for (const CandidateRow& row : run_.rows) known_rows.push_back(row.candidate);
  // A space whose candidates cannot be counted within this time is sampled.
  constexpr double max_counting_time = 0.5;  // seconds
  constexpr double part_for_counting = 0.1;
  Batches batches(
      space_, known_rows, workers_,
      [&] { return now() > max_counting_time || is_spent(part_for_counting); },
      [&] { return is_spent(1); });
  run_.excluded = space_.excluded();
  Coordinator coordinator(
      run_,
      {.total = batches.total(),
       .is_counted = batches.is_listed(),
       .next = [&](auto promising) { return batches.next(promising); },
       .group =
           [&](std::uint64_t candidate) { return space_.group(candidate / space_.schedules()); },
       .placement =
           [&](std::uint64_t candidate) {
             return space_.placement(candidate / space_.schedules());
           },
       .is_slow =
           [&](std::uint64_t candidate) {
             return space_.is_searched(candidate % space_.schedules());
           },
       .floor_s = space_.floor()},
      options_.target);
  std::exception_ptr no_worker_left;
  try {
    work(coordinator, batches);
  } catch (const trace::TraceError&) {
    throw;  // a file cannot be written
  } catch (const std::runtime_error&) {
    no_worker_left = std::current_exception();
  }
  if (calls_.progress) calls_.progress(coordinator.state(), run_);
  coordinator.conclude();
  if (options_.results) {
    const bool has_begun = !no_worker_left || !run_.rows.empty();
    if (has_begun) analysis::write_results(*options_.results, run_);
    journal_->remove();
  }
  if (no_worker_left) std::rethrow_exception(no_worker_left);
  return std::move(run_);
}

}  // namespace

analysis::SearchRun run_search(const Space& space, Workers& workers, const SearchOptions& options,
                               const SearchCalls& calls) {
  return RunningSearch(space, workers, options, calls).run();
}

}  // namespace pipewright::search
