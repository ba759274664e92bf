#include "sim/search/coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace pipewright::search {
namespace {

using analysis::Basis;
using analysis::CandidateRow;
using analysis::Outcome;

constexpr std::uint32_t most_losses = 2;  // of workers, before their task is taken for the cause

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

Coordinator::Coordinator(analysis::SearchRun& run, Candidates candidates, Aim aim)
    : run_(run),
      candidates_(std::move(candidates)),
      aim_(aim),
      order_(run, aim, [this](const CandidateRow& row) {
        return candidates_.is_slow && candidates_.is_slow(row.candidate);
      }) {
  run_.exhaustive = aim.exhaustive;
  for (std::size_t row = 0; row < run_.rows.size(); ++row) {
    CandidateRow& of = run_.rows[row];
    if (of.outcome == Outcome::bounded_away) of.outcome = Outcome::open;
    ++outcomes_[static_cast<std::size_t>(of.outcome)];
    order_.add(row);
    if (of.outcome == Outcome::open) rows_of_[placement_of(of)].push_back(row);
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
  if (all_given_) return std::nullopt;
  const std::optional<std::size_t> promising = order_.promising();
  std::vector<std::uint64_t> batch =
      candidates_.next(promising ? std::optional(run_.rows[*promising].candidate) : std::nullopt);
  all_given_ = batch.empty();
  if (all_given_) return std::nullopt;
  return Work{.basis = Basis::passes, .candidates = std::move(batch)};
}

void Coordinator::give_out(std::size_t row, Work& work) {
  order_.give_out(row);
  work.rows.push_back(row);
  work.candidates.push_back(run_.rows[row].candidate);
}

// One that is needed; and with it, where it is to be assessed more closely, others of its
// placement, as they share most of what that takes.
Coordinator::Work Coordinator::work_on(std::size_t first) {
  const Basis basis = run_.rows[first].basis;
  Work work{.kind = basis == Basis::order ? Task::Kind::simulate : Task::Kind::assess};
  give_out(first, work);
  if (basis == Basis::order) return work;
  work.basis = static_cast<Basis>(static_cast<int>(basis) - 1);
  std::vector<std::size_t>& near = rows_of_[placement_of(run_.rows[first])];
  std::erase_if(near, [&](std::size_t row) {
    return run_.rows[row].outcome != Outcome::open || run_.rows[row].basis == Basis::order;
  });
  const std::size_t most = work.basis == Basis::network ? 64 : 4;
  for (const std::size_t row : near) {
    if (work.rows.size() >= most) break;
    if (run_.rows[row].basis == basis && order_.is_waiting(row) && order_.is_needed(row))
      give_out(row, work);
  }
  return work;
}

std::optional<Coordinator::Work> Coordinator::next_known() {
  const std::optional<std::size_t> first = order_.next();
  return first ? std::optional(work_on(*first)) : std::nullopt;
}

// Should be better than the best, and is soon done: one that takes longer than half of all that was
// done so far can wait for others.
std::optional<Coordinator::Work> Coordinator::next_promising(double now) {
  constexpr double until_good = 1.5;  // seconds
  constexpr double activities_a_second = 2e5;
  if (now < until_good) return std::nullopt;
  const std::optional<std::size_t> first = order_.next_to_improve(now / 2 * activities_a_second);
  return first ? std::optional(work_on(*first)) : std::nullopt;
}

// Of more than can be listed, there is always one with a lower bound. So all look around first, by
// bounds that take milliseconds where closer ones of a new placement may take a second. Then the
// best of those that are known well is simulated, once there was time to find a good one, and while
// it is, half of the workers go on looking.
std::optional<Coordinator::Work> Coordinator::next_of_many(double now) {
  constexpr double to_look_around = 1;  // seconds
  if (now < to_look_around)
    if (std::optional<Work> work = next_new()) return work;
  if (board_.simulating() < std::max<std::size_t>(1, workers_ / 2))
    if (std::optional<Work> work = next_promising(now)) return work;
  if (is_time_for_new(now, board_.spent(TaskBoard::On::closer_looks, now)))
    if (std::optional<Work> work = next_new()) return work;
  if (const std::optional<std::size_t> first = order_.next_to_refine()) return work_on(*first);
  return next_new();
}

// Until all have a bound, half of the time goes to those that have one. The first are many, if they
// come soon, so that the best of them are worth it.
bool Coordinator::is_time_for_new(double now, double spent_on_known) const {
  constexpr std::size_t first = 256;
  constexpr double at_once = 1;  // seconds
  return (run_.rows.size() < first && now < at_once) ||
         board_.spent(TaskBoard::On::new_ones, now) <= spent_on_known;
}

std::optional<Coordinator::Work> Coordinator::next_work(double now) {
  while (!returned_.empty()) {
    Work work = std::move(returned_.front());
    returned_.pop_front();
    if (work.kind == Task::Kind::assess || order_.is_needed(work.rows.front())) return work;
  }
  if (!candidates_.is_counted && !all_given_)
    if (std::optional<Work> work = next_of_many(now)) return work;
  // Bounds of many may take long until the first is known that has to be simulated. People want to
  // see a good one before, which is worth a part of the time; of few, who is simulated does not
  // depend on the clock.
  constexpr std::uint64_t many = 2000;
  constexpr double early_part = 0.1;
  if (candidates_.is_counted && candidates_.total >= many && board_.simulating() == 0 &&
      board_.spent(TaskBoard::On::simulations, now) <
          early_part * now * static_cast<double>(workers_))
    if (std::optional<Work> work = next_promising(now)) return work;
  if (is_time_for_new(now, board_.spent(TaskBoard::On::closer_looks, now) +
                               board_.spent(TaskBoard::On::simulations, now)))
    if (std::optional<Work> work = next_new()) return work;
  if (std::optional<Work> work = next_known()) return work;
  return next_new();
}

std::optional<Task> Coordinator::next(std::size_t worker, double now) {
  workers_ = std::max(workers_, worker + 1);
  if (std::optional<Work> work = next_work(now)) return board_.give(worker, now, std::move(*work));
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
    take_assessed(*work, std::move(answer.rows));
  else
    take_simulated(work->rows.front(), std::move(answer.rows.front()));
  board_.done(worker, now);
  return true;
}

void Coordinator::add_row(CandidateRow row) {
  ++outcomes_[static_cast<std::size_t>(row.outcome)];
  if (is_final(row.outcome)) final_.push_back(row);
  const std::size_t number = run_.rows.size();
  if (row.outcome == Outcome::open) rows_of_[placement_of(row)].push_back(number);
  if (candidates_.floor_s && row.outcome == Outcome::open) {
    analysis::IterationWork work = row.work;
    work.lost_part = 0;  // others may lose less of weeks
    least_unseen_ =
        std::min(least_unseen_, analysis::cost(run_.objective, work, candidates_.floor_s(work), 0));
  }
  run_.rows.push_back(std::move(row));
  order_.add(number);
}

// What is known more closely is no less than what was known before.
void Coordinator::take_assessed(const Work& work, std::vector<CandidateRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (work.rows.empty()) {
      add_row(std::move(rows[i]));
      continue;
    }
    const std::size_t number = work.rows[i];
    order_.back(number);
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
    if (is_final(row.outcome)) final_.push_back(row);
    order_.add(number);
  }
}

// What was found without a simulation stays where that came to nothing.
void Coordinator::take_simulated(std::size_t index, CandidateRow answer) {
  order_.back(index);
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
    row.work.lost_part = answer.work.lost_part;
    row.peak_bytes = answer.peak_bytes;
    row.capacity_bytes = answer.capacity_bytes;
    row.time_s = answer.time_s;
    row.bubble_ratio = answer.bubble_ratio;
    row.span_bubble_s = answer.span_bubble_s;
    row.parts = answer.parts;
    row.assumed = std::move(answer.assumed);
    bound_excess_ = std::max(bound_excess_, row.bound_s / row.time_s - 1);
    order_.add(index);
  }
  final_.push_back(row);
}

void Coordinator::fail(std::size_t index, const std::string& why) {
  take_simulated(index, failure(run_.rows[index].candidate, run_.rows[index].group, why));
}

// Halves have been lost once with the whole, so that the culprit is found in few steps.
void Coordinator::give_up(const Work& work, const std::string& why) {
  const auto count = static_cast<std::ptrdiff_t>(work.candidates.size());
  if (count == 1 && !work.rows.empty()) return fail(work.rows.front(), why);
  const std::uint64_t first = work.candidates.front();
  if (count == 1) return add_row(failure(first, candidates_.group(first), why));
  const auto part = [](const auto& all, std::ptrdiff_t from, std::ptrdiff_t to) {
    using All = std::decay_t<decltype(all)>;
    return all.empty() ? All() : All(all.begin() + from, all.begin() + to);
  };
  for (const auto& [from, to] : {std::pair(std::ptrdiff_t{0}, count / 2), {count / 2, count}})
    returned_.push_back({.kind = work.kind,
                         .basis = work.basis,
                         .candidates = part(work.candidates, from, to),
                         .rows = part(work.rows, from, to),
                         .losses = most_losses - 1});
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
  done_ = all_given_ && !board_.is_looking() && returned_.empty() && order_.is_settled();
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
  const bool is_all = candidates_.is_counted && run_.rows.size() >= candidates_.total;
  const bool all_seen = (all_given_ || is_all) && !board_.is_looking() && !rest_is_left_;
  state.phase = done_                       ? State::Phase::done
                : !all_given_               ? State::Phase::assessing
                : order_.may_improve_best() ? State::Phase::best
                                            : State::Phase::front;
  double least = done_ ? state.best_cost : std::min(state.least_open, state.best_cost);
  if (!all_seen) least = std::isfinite(least_unseen_) ? std::min(least, least_unseen_) : 0;
  // Should a bound have been wrong, others may be as wrong.
  constexpr double rounding = 1e-9;
  const double excess = bound_excess_ > rounding ? bound_excess_ : 0;
  if (state.best && state.best_cost > 0 && std::isfinite(least))
    state.gap = std::clamp(1 - least / state.best_cost / (1 + excess), 0.0, 1.0);
  if (done_ && !state.best) state.gap = rest_is_left_ ? 1 : 0;
  return state;
}

void Coordinator::conclude() {
  const bool done = is_done();
  run_.finished = done && !rest_is_left_;
  if (done)
    for (CandidateRow& row : run_.rows)
      if (row.outcome == Outcome::open) set_outcome(row, Outcome::bounded_away);
  run_.gap = state().gap;
  for (CandidateRow& row : run_.rows) row.basis = Basis::order;  // a matter of a search at work
  std::ranges::sort(run_.rows, in_order);
}

analysis::SearchRun Coordinator::so_far() {
  analysis::SearchRun copy = run_;
  copy.gap = state().gap;
  copy.finished = false;
  std::ranges::sort(copy.rows, in_order);
  return copy;
}

}  // namespace pipewright::search
