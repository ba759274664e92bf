#include "sim/search/coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace pipewright::search {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;

// What runs so many times longer than any other did is taken for stuck.
constexpr double patience = 3;
constexpr double least_patience = 10;     // seconds
constexpr std::uint32_t most_losses = 2;  // of workers, before their task is taken for the cause

Task task_of(std::uint64_t id, const TaskBoard::Work& work) {
  return {.id = id, .kind = work.kind, .candidates = work.candidates};
}

bool is_final(Outcome outcome) {
  return outcome != Outcome::open && outcome != Outcome::bounded_away;
}

bool in_order(const CandidateRow& one, const CandidateRow& other) {
  return one.candidate < other.candidate;
}

bool fits(const Task::Kind kind, const CandidateRow& row) {
  const bool bound = std::isfinite(row.bound_s) && row.bound_s >= 0;
  if (kind == Task::Kind::assess)
    return bound && row.outcome != Outcome::simulated && row.outcome != Outcome::bounded_away;
  const bool timed = std::isfinite(row.time_s) && row.time_s > 0;
  return row.outcome == Outcome::simulated ? timed : is_final(row.outcome);
}

CandidateRow failure(std::uint64_t candidate, std::uint32_t group, const std::string& why) {
  CandidateRow row;
  row.candidate = candidate;
  row.group = group;
  row.outcome = Outcome::failed;
  row.note = why;
  return row;
}

}  // namespace

Task TaskBoard::give(std::size_t worker, double now, Work work) {
  const std::uint64_t id = ++last_;
  Task task = task_of(id, work);
  ++running_of_[index(work.kind)];
  running_.emplace(id, Running{std::move(work), now, {worker}});
  task_of_[worker] = id;
  alone_.insert(id);
  return task;
}

std::optional<Task> TaskBoard::share(std::size_t worker, double now) {
  if (alone_.empty()) return std::nullopt;
  const std::uint64_t id = *alone_.begin();
  Running& slow = running_.at(id);
  const double longest = longest_[index(slow.work.kind)];
  if (now - slow.since < std::max(least_patience, patience * longest)) return std::nullopt;
  slow.workers.push_back(worker);
  task_of_[worker] = id;
  alone_.erase(alone_.begin());
  return task_of(id, slow.work);
}

bool TaskBoard::is_on(std::size_t worker, std::uint64_t task) const {
  const auto its = task_of_.find(worker);
  return its != task_of_.end() && its->second == task;
}

const TaskBoard::Work* TaskBoard::find(std::uint64_t task) const {
  const auto running = running_.find(task);
  return running == running_.end() ? nullptr : &running->second.work;
}

void TaskBoard::remove(std::uint64_t task) {
  --running_of_[index(running_.at(task).work.kind)];
  running_.erase(task);
  alone_.erase(task);
}

void TaskBoard::done(std::size_t worker, double now) {
  const std::uint64_t task = task_of_.at(worker);
  const Running& running = running_.at(task);
  double& longest = longest_[index(running.work.kind)];
  longest = std::max(longest, now - running.since);
  remove(task);
  task_of_.erase(worker);
}

std::optional<TaskBoard::Work> TaskBoard::lost(std::size_t worker) {
  const auto its = task_of_.find(worker);
  if (its == task_of_.end()) return std::nullopt;
  const std::uint64_t task = its->second;
  task_of_.erase(its);
  const auto found = running_.find(task);
  if (found == running_.end()) return std::nullopt;
  Running& running = found->second;
  ++running.work.losses;
  std::erase(running.workers, worker);
  if (!running.workers.empty()) return std::nullopt;
  Work work = std::move(running.work);
  remove(task);
  return work;
}

Coordinator::Coordinator(analysis::SearchRun& run, Candidates candidates, Aim aim)
    : run_(run), candidates_(std::move(candidates)), aim_(aim) {
  run_.exhaustive = aim.exhaustive;
  // Growing by doubling takes three times as much for a moment.
  constexpr std::uint64_t most_reserved = std::uint64_t{1} << 22U;
  run_.rows.reserve(static_cast<std::size_t>(std::min(candidates_.total, most_reserved)));
  for (CandidateRow& row : run_.rows) {
    if (row.outcome == Outcome::bounded_away) row.outcome = Outcome::open;
    ++outcomes_[static_cast<std::size_t>(row.outcome)];
  }
}

void Coordinator::set_outcome(CandidateRow& row, Outcome outcome) {
  --outcomes_[static_cast<std::size_t>(row.outcome)];
  ++outcomes_[static_cast<std::size_t>(outcome)];
  row.outcome = outcome;
}

void Coordinator::begin_simulations() {
  if (!std::ranges::is_sorted(run_.rows, in_order)) std::ranges::sort(run_.rows, in_order);
  order_.emplace(run_, aim_);
}

std::optional<Coordinator::Work> Coordinator::next_work() {
  while (!returned_.empty()) {
    Work work = std::move(returned_.front());
    returned_.pop_front();
    if (work.kind == Task::Kind::assess || order_->is_needed(work.row)) return work;
  }
  if (!order_ && !all_given_) {
    std::vector<std::uint64_t> batch = candidates_.next();
    if (!batch.empty()) return Work{.candidates = std::move(batch)};
    all_given_ = true;
  }
  if (!order_ && !board_.is_running(Task::Kind::assess)) begin_simulations();
  if (!order_) return std::nullopt;
  const std::optional<std::size_t> row = order_->next();
  if (!row) return std::nullopt;
  return Work{.kind = Task::Kind::simulate, .candidates = {run_.rows[*row].candidate}, .row = *row};
}

std::optional<Task> Coordinator::next(std::size_t worker, double now) {
  if (std::optional<Work> work = next_work()) return board_.give(worker, now, std::move(*work));
  if (is_done()) return std::nullopt;
  return board_.share(worker, now);
}

bool Coordinator::answered(std::size_t worker, Answer answer, double now) {
  if (!board_.is_on(worker, answer.id)) return false;
  const Work* const work = board_.find(answer.id);
  if (work == nullptr) {
    board_.too_late(worker);
    return true;
  }
  if (answer.rows.size() != work->candidates.size()) return false;
  for (std::size_t i = 0; i < answer.rows.size(); ++i)
    if (answer.rows[i].candidate != work->candidates[i] ||
        answer.rows[i].group != candidates_.group(work->candidates[i]) ||
        !fits(work->kind, answer.rows[i]))
      return false;
  if (work->kind == Task::Kind::assess)
    take_assessed(std::move(answer.rows));
  else
    take_simulated(work->row, std::move(answer.rows.front()));
  board_.done(worker, now);
  return true;
}

void Coordinator::take_assessed(std::vector<CandidateRow> rows) {
  for (CandidateRow& row : rows) {
    ++outcomes_[static_cast<std::size_t>(row.outcome)];
    if (is_final(row.outcome)) final_.push_back(row);
    run_.rows.push_back(std::move(row));
  }
}

// What was found without a simulation stays where that came to nothing.
void Coordinator::take_simulated(std::size_t index, CandidateRow answer) {
  order_->back(index);
  CandidateRow& row = run_.rows[index];
  set_outcome(row, answer.outcome);
  row.note = std::move(answer.note);
  if (answer.outcome == Outcome::simulated) {
    row.peak_bytes = answer.peak_bytes;
    row.time_s = answer.time_s;
    row.bubble_ratio = answer.bubble_ratio;
    row.span_bubble_s = answer.span_bubble_s;
    row.parts = answer.parts;
    row.assumed = std::move(answer.assumed);
    bound_excess_ = std::max(bound_excess_, row.bound_s / row.time_s - 1);
    order_->simulated(index);
  }
  final_.push_back(row);
}

void Coordinator::fail(std::size_t index, const std::string& why) {
  take_simulated(index, failure(run_.rows[index].candidate, run_.rows[index].group, why));
}

// Halves have been lost once with the whole, so that the culprit is found in few steps.
void Coordinator::give_up(const Work& work, const std::string& why) {
  if (work.kind == Task::Kind::simulate) return fail(work.row, why);
  const auto begin = work.candidates.begin();
  const auto middle = begin + static_cast<std::ptrdiff_t>(work.candidates.size() / 2);
  if (middle == begin) return take_assessed({failure(*begin, candidates_.group(*begin), why)});
  for (const auto& [from, to] :
       {std::pair(begin, middle), std::pair(middle, work.candidates.end())})
    returned_.push_back({.candidates = {from, to}, .losses = most_losses - 1});
}

void Coordinator::lost(std::size_t worker, const std::string& why) {
  std::optional<Work> work = board_.lost(worker);
  if (!work) return;
  if (work->losses < most_losses)
    returned_.push_back(std::move(*work));
  else
    give_up(*work, fmt::format("its worker was lost: {}", why));
}

bool Coordinator::is_done() {
  done_ = order_ && returned_.empty() && order_->is_settled();
  return done_;
}

std::vector<CandidateRow> Coordinator::take_final() { return std::exchange(final_, {}); }

State Coordinator::state() const {
  State state;
  state.total = candidates_.total;
  state.assessed = run_.rows.size();
  state.outcomes = outcomes_;
  state.running = board_.running();
  if (!order_) return state;
  state.still_needed = order_->still_needed();
  state.best = order_->best();
  state.best_cost = order_->best_cost();
  state.least_open = order_->least_open();
  state.phase = done_                        ? State::Phase::done
                : order_->may_improve_best() ? State::Phase::best
                                             : State::Phase::front;
  // Should a bound have been wrong, others may be as wrong.
  const double least = done_ ? state.best_cost : std::min(state.least_open, state.best_cost);
  constexpr double rounding = 1e-9;
  const double excess = bound_excess_ > rounding ? bound_excess_ : 0;
  if (state.best && state.best_cost > 0) state.gap = 1 - least / state.best_cost / (1 + excess);
  if (done_ && !state.best) state.gap = 0;
  if (rest_is_left_) state.gap = 1;
  return state;
}

void Coordinator::conclude() {
  const bool done = is_done();
  run_.finished = done && !rest_is_left_;
  if (done)
    for (CandidateRow& row : run_.rows)
      if (row.outcome == Outcome::open) set_outcome(row, Outcome::bounded_away);
  run_.gap = state().gap;
  if (!order_) std::ranges::sort(run_.rows, in_order);
}

}  // namespace pipewright::search
