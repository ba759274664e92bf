#include "sim/search/coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/search/candidate_figures.hpp"

namespace pipewright::search {
namespace {

using analysis::Basis;
using analysis::CandidateRow;
using analysis::Outcome;

constexpr std::uint32_t max_losses = 2;  // lost workers after which their task counts as the cause

bool is_final_outcome(Outcome outcome) {
  return outcome != Outcome::open && outcome != Outcome::bounded_away;
}

bool by_candidate(const CandidateRow& lhs, const CandidateRow& rhs) {
  return lhs.candidate < rhs.candidate;
}

// Returns whether a worker may have sent this row for a task of this kind: it has a valid bound or
// time and an outcome that such a task can have.
bool is_possible_answer(const Task::Kind kind, const CandidateRow& row) {
  const bool bound = std::isfinite(row.bound_s) && row.bound_s >= 0;
  if (kind == Task::Kind::assess)
    return bound && row.outcome != Outcome::simulated && row.outcome != Outcome::bounded_away;
  const bool timed = std::isfinite(row.time_s) && row.time_s > 0;
  return row.outcome == Outcome::simulated ? timed : is_final_outcome(row.outcome);
}

CandidateRow failure(std::uint64_t candidate, std::uint32_t group, const std::string& why) {
  CandidateRow row;
  row.candidate = candidate;
  row.group = group;
  row.outcome = Outcome::failed;
  row.note = why;
  return row;
}

// Returns the activities of a simulation that should take at most half of the time that the search
// has run so far; negative if it is too early for a simulation.
double short_simulation(double now) {
  constexpr double first_look = 1.5;  // seconds
  constexpr double activities_per_second = 2e5;
  return now < first_look ? -1 : now / 2 * activities_per_second;
}

}  // namespace

Coordinator::Coordinator(analysis::SearchRun& run, Candidates candidates, Target target)
    : run_(run),
      candidates_(std::move(candidates)),
      target_(target),
      order_(run, target, [this](const CandidateRow& row) {
        return candidates_.is_slow && candidates_.is_slow(row.candidate);
      }) {
  run_.exhaustive = target.exhaustive;
  for (std::size_t row = 0; row < run_.rows.size(); ++row) {
    CandidateRow& earlier = run_.rows[row];
    if (earlier.outcome == Outcome::bounded_away) earlier.outcome = Outcome::open;
    ++outcomes_[static_cast<std::size_t>(earlier.outcome)];
    order_.add(row);
    if (earlier.outcome == Outcome::open) open_rows_[placement_of(earlier)].push_back(row);
  }
}

std::uint64_t Coordinator::placement_of(const CandidateRow& row) const {
  return candidates_.placement ? candidates_.placement(row.candidate) : 0;
}

void Coordinator::set_outcome(CandidateRow& row, Outcome outcome) {
  --outcomes_[static_cast<std::size_t>(row.outcome)];
  ++outcomes_[static_cast<std::size_t>(outcome)];
  row.outcome = outcome;
}

std::optional<Coordinator::Work> Coordinator::next_new() {
  if (all_assigned_) return std::nullopt;
  const std::optional<std::size_t> promising = order_.promising();
  std::vector<std::uint64_t> batch =
      candidates_.next(promising ? std::optional(run_.rows[*promising].candidate) : std::nullopt);
  all_assigned_ = batch.empty();
  if (all_assigned_) return std::nullopt;
  return Work{.basis = Basis::passes, .candidates = std::move(batch)};
}

void Coordinator::assign(std::size_t row, Work& work) {
  order_.assign(row);
  work.rows.push_back(row);
  work.candidates.push_back(run_.rows[row].candidate);
}

// Makes the task for a candidate's next step: a closer bound, or a simulation once its bound is the
// closest. A task for a closer bound includes further candidates of the same placement, as they
// share most of the cost.
Coordinator::Work Coordinator::make_work(std::size_t first) {
  const Basis basis = run_.rows[first].basis;
  Work work{.kind = basis == Basis::order ? Task::Kind::simulate : Task::Kind::assess};
  assign(first, work);
  if (basis == Basis::order) return work;
  work.basis = static_cast<Basis>(static_cast<int>(basis) - 1);
  std::vector<std::size_t>& near = open_rows_[placement_of(run_.rows[first])];
  std::erase_if(near, [&](std::size_t row) {
    return run_.rows[row].outcome != Outcome::open || run_.rows[row].basis == Basis::order;
  });
  // Until a time is known with which bounds compare, few candidates are known to need a bound with
  // the order of passes.
  const std::size_t max_rows = work.basis == Basis::network || order_.best() ? 64 : 4;
  for (const std::size_t row : near) {
    if (work.rows.size() >= max_rows) break;
    if (run_.rows[row].basis == basis && order_.is_waiting(row) && order_.is_needed(row))
      assign(row, work);
  }
  return work;
}

std::optional<Coordinator::Work> Coordinator::next_known() {
  const std::optional<std::size_t> first = order_.next();
  return first ? std::optional(make_work(*first)) : std::nullopt;
}

// Returns a task that simulates a candidate whose bound beats the best and whose simulation is
// short.
std::optional<Coordinator::Work> Coordinator::next_promising(double now) {
  const std::optional<std::size_t> first = order_.next_to_improve(short_simulation(now));
  return first ? std::optional(make_work(*first)) : std::nullopt;
}

// Returns a task on the way to a better candidate: the short simulation of one that promises to be
// better than the best, or else the bound with the order of passes of the one that may be best.
// Both together take at most two fifths of the workers' time, and one simulation runs at a time.
std::optional<Coordinator::Work> Coordinator::next_early(double now) {
  constexpr double early_share = 0.4;
  constexpr double first_choice = 2.5;  // seconds until there are some bounds to choose from
  using Activity = TaskBoard::Activity;
  if (now < first_choice || board_.simulating() > 0 ||
      board_.spent(Activity::simulations, now) + board_.spent(Activity::orders, now) >
          early_share * now * static_cast<double>(workers_))
    return std::nullopt;
  if (const std::optional<std::size_t> first = order_.next_to_try(short_simulation(now))) {
    Work work{.kind = Task::Kind::simulate};
    assign(*first, work);
    return work;
  }
  const std::optional<std::size_t> first = order_.best() ? order_.next_to_order() : std::nullopt;
  return first ? std::optional(make_work(*first)) : std::nullopt;
}

// Returns the next task in a space that is too large to be listed, where there is always a
// candidate with a lower bound. First all workers compute rough bounds, which take milliseconds
// where a closer bound in a new placement may take a second. Then candidates with close bounds are
// simulated by at most half of the workers, while the others go on computing bounds.
std::optional<Coordinator::Work> Coordinator::next_in_large_space(double now) {
  constexpr double rough_bounds_time = 1;  // seconds
  if (now < rough_bounds_time)
    if (std::optional<Work> work = next_new()) return work;
  if (board_.simulating() < std::max<std::size_t>(1, workers_ / 2))
    if (std::optional<Work> work = next_promising(now)) return work;
  if (has_time_for_new(now, board_.spent(TaskBoard::Activity::closer_bounds, now) +
                                board_.spent(TaskBoard::Activity::orders, now)))
    if (std::optional<Work> work = next_new()) return work;
  if (const std::optional<std::size_t> first = order_.next_to_refine()) return make_work(*first);
  return next_new();
}

// Returns whether it is time to compute bounds of candidates that have none: they get half of the
// workers' time until none are left. The first few hundred come at once, so that there is a choice
// of candidates for closer bounds. In a sweep that has no more candidates, the clock plays no part,
// so that a single worker always simulates the same candidates.
bool Coordinator::has_time_for_new(double now, double spent_on_known) const {
  constexpr std::size_t first_rows = 256;
  constexpr double first_seconds = 1;
  const bool is_small = candidates_.is_counted && candidates_.total <= first_rows;
  return is_small || (run_.rows.size() < first_rows && now < first_seconds) ||
         board_.spent(TaskBoard::Activity::new_candidates, now) <= spent_on_known;
}

std::optional<Coordinator::Work> Coordinator::next_work(double now) {
  while (!returned_.empty()) {
    Work work = std::move(returned_.front());
    returned_.pop_front();
    if (work.kind == Task::Kind::assess || order_.is_needed(work.rows.front())) return work;
  }
  if (!candidates_.is_counted && !all_assigned_)
    if (std::optional<Work> work = next_in_large_space(now)) return work;
  // Computing the bounds of many candidates takes long, and users want to see a good candidate
  // earlier. The earlier it is known, the fewer candidates need closer bounds. With few candidates
  // this is left out, so that the simulated candidates do not depend on the clock.
  constexpr std::uint64_t many_candidates = 2000;
  if (candidates_.is_counted && candidates_.total >= many_candidates)
    if (std::optional<Work> work = next_early(now)) return work;
  using Activity = TaskBoard::Activity;
  if (has_time_for_new(now, board_.spent(Activity::closer_bounds, now) +
                                board_.spent(Activity::orders, now) +
                                board_.spent(Activity::simulations, now)))
    if (std::optional<Work> work = next_new()) return work;
  if (std::optional<Work> work = next_known()) return work;
  return next_new();
}

std::optional<Task> Coordinator::next(std::size_t worker, double now) {
  workers_ = std::max(workers_, worker + 1);
  if (std::optional<Work> work = next_work(now))
    return board_.assign(worker, now, std::move(*work));
  if (is_done()) return std::nullopt;
  return board_.assign_again(worker, now);
}

bool Coordinator::take_answer(std::size_t worker, Answer answer, double now) {
  if (!board_.has_task(worker, answer.id)) return false;
  const Work* const work = board_.find(answer.id);
  if (work == nullptr) {
    board_.drop_late_answer(worker);
    return true;
  }
  if (answer.rows.size() != work->candidates.size()) return false;
  for (std::size_t i = 0; i < answer.rows.size(); ++i)
    if (answer.rows[i].candidate != work->candidates[i] ||
        answer.rows[i].group != candidates_.group(work->candidates[i]) ||
        !is_possible_answer(work->kind, answer.rows[i]))
      return false;
  if (work->kind == Task::Kind::assess)
    take_bounds(*work, std::move(answer.rows));
  else
    take_result(work->rows.front(), std::move(answer.rows.front()));
  board_.finish(worker, now);
  return true;
}

void Coordinator::add_row(CandidateRow row) {
  ++outcomes_[static_cast<std::size_t>(row.outcome)];
  if (is_final_outcome(row.outcome)) final_.push_back(row);
  const std::size_t number = run_.rows.size();
  if (row.outcome == Outcome::open) open_rows_[placement_of(row)].push_back(number);
  if (candidates_.floor_s && row.outcome == Outcome::open) {
    analysis::IterationWork work = row.work;
    work.lost_part = 0;  // other candidates may lose less in a goodput run
    least_unseen_ =
        std::min(least_unseen_, analysis::cost(run_.objective, work, candidates_.floor_s(work), 0));
  }
  run_.rows.push_back(std::move(row));
  order_.add(number);
}

// Stores the bounds that a worker has computed. A bound that is lower than an earlier one of the
// same candidate is ignored.
void Coordinator::take_bounds(const Work& work, std::vector<CandidateRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (work.rows.empty()) {
      add_row(std::move(rows[i]));
      continue;
    }
    const std::size_t number = work.rows[i];
    order_.take_back(number);
    CandidateRow& row = run_.rows[number];
    CandidateRow& answer = rows[i];
    set_outcome(row, answer.outcome);
    row.basis = std::min(row.basis, answer.basis);
    if (answer.outcome == Outcome::open || answer.outcome == Outcome::does_not_fit) {
      row.work = answer.work;
      row.capacity_bytes = answer.capacity_bytes;
      row.peak_bytes = std::max(row.peak_bytes, answer.peak_bytes);
      row.bound_s = answer.outcome == Outcome::open ? std::max(row.bound_s, answer.bound_s) : 0;
      row.activities = answer.activities;
    }
    if (answer.outcome == Outcome::illegal)
      row = std::move(answer);
    else
      row.note = std::move(answer.note);
    if (is_final_outcome(row.outcome)) final_.push_back(row);
    order_.add(number);
  }
}

// Stores the result of a simulation in its row. If the simulation failed, the row keeps its bounds.
void Coordinator::take_result(std::size_t index, CandidateRow answer) {
  order_.take_back(index);
  CandidateRow& row = run_.rows[index];
  set_outcome(row, answer.outcome);
  row.activities = 0;
  if (answer.outcome == Outcome::illegal) {
    row = std::move(answer);
    final_.push_back(row);
    return;
  }
  row.note = std::move(answer.note);
  if (row.outcome == Outcome::simulated) {
    analysis::copy_simulated_figures(row, answer);
    row.evidence = std::move(answer.evidence);
    bound_excess_ = std::max(bound_excess_, row.bound_s / row.time_s - 1);
    order_.add(index);
  }
  final_.push_back(row);
}

void Coordinator::fail(std::size_t index, const std::string& why) {
  take_result(index, failure(run_.rows[index].candidate, run_.rows[index].group, why));
}

// Splits a task whose workers were lost into halves, until the candidate that crashes the workers
// is alone in its task and is marked as failed. Each half starts with one loss, so that few steps
// are needed.
void Coordinator::split_or_fail(const Work& work, const std::string& why) {
  const auto count = static_cast<std::ptrdiff_t>(work.candidates.size());
  if (count == 1 && !work.rows.empty()) return fail(work.rows.front(), why);
  const std::uint64_t first = work.candidates.front();
  if (count == 1) return add_row(failure(first, candidates_.group(first), why));
  const auto part = [](const auto& list, std::ptrdiff_t from, std::ptrdiff_t to) {
    using List = std::decay_t<decltype(list)>;
    return list.empty() ? List() : List(list.begin() + from, list.begin() + to);
  };
  for (const auto& [from, to] : {std::pair(std::ptrdiff_t{0}, count / 2), {count / 2, count}})
    returned_.push_back({.kind = work.kind,
                         .basis = work.basis,
                         .candidates = part(work.candidates, from, to),
                         .rows = part(work.rows, from, to),
                         .losses = max_losses - 1});
}

void Coordinator::lose_worker(std::size_t worker, const std::string& why) {
  std::optional<Work> work = board_.remove_worker(worker);
  if (!work) return;
  if (work->losses < max_losses)
    returned_.push_back(std::move(*work));
  else
    split_or_fail(*work, fmt::format("the worker that evaluated it was lost: {}", why));
}

bool Coordinator::is_done() {
  done_ = all_assigned_ && !board_.is_assessing_new() && returned_.empty() && order_.is_settled();
  return done_;
}

std::vector<CandidateRow> Coordinator::take_final() { return std::exchange(final_, {}); }

State Coordinator::state() const {
  State state;
  state.total = candidates_.total;
  state.assessed = run_.rows.size();
  state.outcomes = outcomes_;
  state.running = board_.running();
  state.still_needed = order_.still_needed();
  state.best = order_.best();
  state.best_cost = order_.best_cost();
  state.least_open = order_.least_open();
  const bool is_complete = candidates_.is_counted && run_.rows.size() >= candidates_.total;
  const bool all_seen =
      (all_assigned_ || is_complete) && !board_.is_assessing_new() && !is_stopped_;
  state.phase = done_                       ? State::Phase::done
                : !all_assigned_            ? State::Phase::assessing
                : order_.may_improve_best() ? State::Phase::best
                                            : State::Phase::front;
  double least_cost = done_ ? state.best_cost : std::min(state.least_open, state.best_cost);
  if (!all_seen)
    least_cost = std::isfinite(least_unseen_) ? std::min(least_cost, least_unseen_) : 0;
  // The gap is widened by the ratio by which a bound has exceeded the simulated time of its
  // candidate, since other bounds may be as wrong.
  constexpr double tolerance = 1e-9;
  const double excess = bound_excess_ > tolerance ? bound_excess_ : 0;
  if (state.best && state.best_cost > 0 && std::isfinite(least_cost))
    state.gap = std::clamp(1 - least_cost / state.best_cost / (1 + excess), 0.0, 1.0);
  if (done_ && !state.best) state.gap = is_stopped_ ? 1 : 0;
  return state;
}

void Coordinator::conclude() {
  const bool done = is_done();
  run_.finished = done && !is_stopped_;
  if (done)
    for (CandidateRow& row : run_.rows)
      if (row.outcome == Outcome::open) set_outcome(row, Outcome::bounded_away);
  run_.gap = state().gap;
  for (CandidateRow& row : run_.rows) row.basis = Basis::order;  // results do not store the basis
  std::ranges::sort(run_.rows, by_candidate);
}

analysis::SearchRun Coordinator::snapshot() {
  analysis::SearchRun copy = run_;
  copy.gap = state().gap;
  copy.finished = false;
  std::ranges::sort(copy.rows, by_candidate);
  return copy;
}

}  // namespace pipewright::search
