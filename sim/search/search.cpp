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

analysis::SearchRun describe(const Space& space) {
  analysis::SearchRun run;
  run.title = space.sweep().title;
  run.sweep = space.sweep().text;
  run.axes = space.axes();
  run.groups = space.groups();
  run.objective = space.sweep().objective;
  run.combinations = space.combinations();
  return run;
}

class Search {
 public:
  Search(const Space& space, Workers& workers, const SearchOptions& options,
         const SearchCalls& calls);

  analysis::SearchRun run();

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }
  void open_files();
  void take_earlier();
  bool is_spent(double part) const;  // of the budget, or somebody interrupts
  void go_on(Coordinator& coordinator, const Batches& batches);
  void hand_out(Coordinator& coordinator);
  void take(Coordinator& coordinator, const Workers::Event& event);
  void keep(const std::vector<CandidateRow>& rows);
  void write_now_and_then(Coordinator& coordinator);

  using Clock = std::chrono::steady_clock;

  const Space& space_;
  const SearchOptions& options_;
  const SearchCalls& calls_;
  analysis::SearchRun run_;
  std::unique_ptr<Journal> journal_;  // if there are results
  WorkerPool pool_;
  Clock::time_point began_ = Clock::now();
  std::size_t workers_;
  std::uint64_t kept_ = 0;          // rows, by this search
  std::uint64_t next_written_ = 1;  // when so many are
  double written_ = 0;              // seconds
};

Search::Search(const Space& space, Workers& workers, const SearchOptions& options,
               const SearchCalls& calls)
    : space_(space),
      options_(options),
      calls_(calls),
      run_(describe(space)),
      pool_(workers, to_line(Handshake{space.sweep().text, options.facts})),
      workers_(workers.count()) {
  run_.shard = {space.sweep().shard.number, space.sweep().shard.count};
  run_.fronts = options.aim.front || options.aim.exhaustive;
  run_.rows = options.known;
  if (options.results) open_files();
}

void Search::open_files() {
  std::filesystem::path path = *options_.results;
  path += ".journal";
  journal_ = std::make_unique<Journal>(path, SearchIdentity{run_.sweep, run_.axes});
  try {
    if (options_.resume)
      take_earlier();
    else
      journal_->check_empty();
  } catch (...) {
    if (journal_->is_new()) journal_->remove();
    throw;
  }
}

// Throws trace::TraceError.
void Search::take_earlier() {
  std::vector<CandidateRow> known = std::exchange(run_.rows, {});
  run_.rows = earlier_rows(*options_.results, *journal_, {run_.sweep, run_.axes});
  for (const CandidateRow& row : run_.rows)
    if (static_cast<double>(row.candidate) >= space_.combinations() ||
        row.group != space_.group(row.candidate / space_.schedules()))
      throw trace::TraceError(fmt::format("{}: candidate {} is none of this sweep",
                                          options_.results->string(), row.candidate));
  // What was killed or took too long may not another time.
  std::erase_if(run_.rows,
                [](const CandidateRow& row) { return row.outcome == analysis::Outcome::failed; });
  // Results do not tell what the bounds of others rest on.
  for (CandidateRow& row : run_.rows)
    if (row.outcome == analysis::Outcome::open || row.outcome == analysis::Outcome::bounded_away)
      row.basis = analysis::Basis::passes;
  std::erase_if(known, [&](const CandidateRow& row) {
    return std::ranges::binary_search(run_.rows, row.candidate, {}, &CandidateRow::candidate);
  });
  std::ranges::move(known, std::back_inserter(run_.rows));
  std::ranges::sort(run_.rows, {}, &CandidateRow::candidate);
}

void Search::keep(const std::vector<CandidateRow>& rows) {
  if (journal_) journal_->append(rows);
  kept_ += rows.size();
}

void Search::hand_out(Coordinator& coordinator) {
  std::size_t worker = 0;
  while (pool_.take_idle(worker)) {
    const std::optional<Task> task = coordinator.next(worker, now());
    if (!task) return pool_.release(worker);
    pool_.send(worker, to_line(*task));
  }
}

void Search::take(Coordinator& coordinator, const Workers::Event& event) {
  if (event.kind == Workers::Event::Kind::lost) return coordinator.lost(event.worker, event.text);
  try {
    if (coordinator.answered(event.worker, read_answer(event.text), now()))
      return pool_.release(event.worker);
  } catch (const std::runtime_error&) {
    // No answer at all: as one that is none to the question.
  }
  coordinator.lost(event.worker, "it gave no answer that makes sense");
  pool_.dismiss(event.worker);
}

// People may want to look at what there is; the journal has it anyway.
void Search::write_now_and_then(Coordinator& coordinator) {
  constexpr double pause = 30;  // seconds
  if (!options_.results || kept_ < next_written_ || now() - written_ < pause) return;
  analysis::write_results(*options_.results, coordinator.so_far());
  next_written_ = 2 * kept_;
  written_ = now();
}

bool Search::is_spent(double part) const {
  return (calls_.interrupted && calls_.interrupted()) ||
         (options_.budget_s && now() > part * *options_.budget_s);
}

void Search::go_on(Coordinator& coordinator, const Batches& batches) {
  constexpr double look_again = 0.1;  // seconds
  double shown = -look_again;
  while (!coordinator.is_done()) {
    if (calls_.interrupted && calls_.interrupted()) return;
    const double left = options_.budget_s ? *options_.budget_s - now() : look_again;
    if (left <= 0) return;
    hand_out(coordinator);
    if (batches.is_cut_short()) coordinator.leave_rest();
    for (const Workers::Event& event : pool_.wait(std::min(left, look_again)))
      take(coordinator, event);
    keep(coordinator.take_final());
    if (calls_.progress && now() >= shown + look_again) {
      calls_.progress(coordinator.state(), run_);
      shown = now();
    }
    write_now_and_then(coordinator);
  }
}

analysis::SearchRun Search::run() {
  std::vector<std::uint64_t> known;
  for (const CandidateRow& row : run_.rows) known.push_back(row.candidate);
  // What is not counted by then is sampled.
  constexpr double most_counting = 0.5;  // seconds
  constexpr double part_for_counting = 0.1;
  Batches batches(
      space_, known, workers_, [&] { return now() > most_counting || is_spent(part_for_counting); },
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
      options_.aim);
  std::exception_ptr nobody_left;
  try {
    go_on(coordinator, batches);
  } catch (const trace::TraceError&) {
    throw;  // the files cannot be written
  } catch (const std::runtime_error&) {
    nobody_left = std::current_exception();
  }
  coordinator.conclude();
  if (options_.results) {
    const bool began = !nobody_left || !run_.rows.empty();
    if (began) analysis::write_results(*options_.results, run_);
    journal_->remove();
  }
  if (nobody_left) std::rethrow_exception(nobody_left);
  return std::move(run_);
}

}  // namespace

analysis::SearchRun run_search(const Space& space, Workers& workers, const SearchOptions& options,
                               const SearchCalls& calls) {
  return Search(space, workers, options, calls).run();
}

}  // namespace pipewright::search
