#include "support/brute_force.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/front.hpp"
#include "analysis/report/search/row_json.hpp"
#include "sim/config/scenario.hpp"
#include "sim/process/run.hpp"
#include "sim/workload/plan/modelled.hpp"

namespace pipewright::tests {

using analysis::Basis;
using analysis::CandidateRow;
using analysis::Outcome;

namespace {

CandidateRow judged(const config::Value& scenario, evaluation::Evaluator& evaluator) {
  const CandidateRow row = evaluator.simulate(scenario);
  if (row.outcome == Outcome::illegal) return row;
  // A candidate that recomputes without saving memory equals the one without recomputation, but is
  // slower, so searches leave it out.
  const bool is_one = !workload::recomputes_for_nothing(config::read_scenario(scenario));
  return is_one ? row : CandidateRow{.outcome = Outcome::illegal};
}

// Simulates in a child process, because SimGrid's clock continues from one simulation of a process
// to the next and changes the rounding of sums.
CandidateRow simulated(const config::Value& scenario, evaluation::Evaluator& evaluator) {
  const process::Result result =
      process::run([&] { return analysis::to_json_line(judged(scenario, evaluator)); });
  if (result.failed) return {.outcome = Outcome::failed, .note = result.text};
  return analysis::row_of_json(result.text);
}

// Returns true if `a` dominates `b`: it is not worse in time and memory, and better in one of them.
bool is_better(const CandidateRow& a, const CandidateRow& b) {
  const double time_a = analysis::seconds_per_unit(a.work, a.time_s);
  const double time_b = analysis::seconds_per_unit(b.work, b.time_s);
  return time_a <= time_b && a.peak_bytes <= b.peak_bytes &&
         (time_a < time_b || a.peak_bytes < b.peak_bytes);
}

bool is_same(const CandidateRow& a, const CandidateRow& b) {
  return analysis::seconds_per_unit(a.work, a.time_s) ==
             analysis::seconds_per_unit(b.work, b.time_s) &&
         a.peak_bytes == b.peak_bytes;
}

std::vector<std::uint64_t> front_of(std::vector<CandidateRow> rows) {
  std::ranges::sort(
      rows, {}, [](const CandidateRow& row) { return std::pair(row.peak_bytes, row.candidate); });
  std::vector<std::uint64_t> front;
  for (auto row = rows.begin(); row != rows.end(); ++row)
    if (std::ranges::none_of(rows, [&](const auto& rival) { return is_better(rival, *row); }) &&
        std::none_of(rows.begin(), row, [&](const auto& rival) { return is_same(rival, *row); }))
      front.push_back(row->candidate);
  return front;
}

// Returns a row as text without its lower bound, which depends on the course of the search. All
// other numbers must be equal to the last bit.
std::string without_bound(CandidateRow row) {
  row.bound_s = 0;
  row.site = {};
  return analysis::to_json_line(row);
}

}  // namespace

std::vector<CandidateRow> simulate_all(const search::Space& space,
                                       evaluation::Evaluator& evaluator) {
  evaluator.get_ready();
  std::vector<CandidateRow> rows;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    for (const std::uint32_t schedule : schedules) {
      const std::uint64_t candidate = layout * space.schedules() + schedule;
      rows.push_back(simulated(space.candidate(candidate), evaluator));
      rows.back().candidate = candidate;
      rows.back().group = space.group(layout);
    }
    return true;
  });
  return rows;
}

BestCandidates best_by_simulation(const analysis::SearchRun& run,
                                  const std::vector<CandidateRow>& reference) {
  BestCandidates answers;
  std::vector<std::vector<CandidateRow>> by_group(run.groups.size());
  std::vector<std::pair<double, CandidateRow>> ranked;
  for (const CandidateRow& row : reference) {
    if (row.outcome != Outcome::simulated) continue;
    by_group.at(row.group).push_back(row);
    const double cost = analysis::cost(run.objective, row.work, row.time_s, row.peak_bytes);
    if (std::isfinite(cost)) ranked.emplace_back(cost, row);
  }
  std::ranges::sort(ranked, {}, [](const auto& entry) {
    return std::tuple(entry.first, entry.second.peak_bytes, entry.second.candidate);
  });
  for (const auto& rows : by_group) answers.fronts.push_back(front_of(rows));
  if (ranked.empty()) return answers;
  const CandidateRow& best = ranked.front().second;
  answers.best = best.candidate;
  constexpr double rounding = 1e-12;
  for (const auto& [cost, row] : ranked)
    if (!answers.runner_up &&
        (row.peak_bytes != best.peak_bytes || row.work.gpus != best.work.gpus ||
         row.work.samples != best.work.samples || row.work.tokens != best.work.tokens ||
         std::abs(row.time_s - best.time_s) > rounding * best.time_s))
      answers.runner_up = row.candidate;
  return answers;
}

BestCandidates reported_best(const analysis::SearchRun& run, bool fronts) {
  const analysis::Findings findings = analysis::find(run);
  BestCandidates answers;
  if (findings.best) answers.best = run.rows[*findings.best].candidate;
  if (const auto second = analysis::runner_up(run, findings))
    if (second->equivalents == 0 ||
        !analysis::are_equivalent(run.rows[second->better], run.rows[second->worse]))
      answers.runner_up = run.rows[second->worse].candidate;
  for (const auto& rows : findings.fronts) {
    answers.fronts.emplace_back();
    if (fronts)
      for (const std::size_t row : rows) answers.fronts.back().push_back(run.rows[row].candidate);
  }
  return answers;
}

std::string faults_of_bounds(const search::Space& space, evaluation::Evaluator& evaluator,
                             const std::vector<CandidateRow>& reference) {
  constexpr double rounding = 1e-9;  // Rounding of sums in a different order.
  std::string faults;
  for (const CandidateRow& row : reference)
    for (const Basis basis : {Basis::passes, Basis::network, Basis::order}) {
      const auto schedule = static_cast<std::uint32_t>(row.candidate % space.schedules());
      const CandidateRow bound =
          evaluator.assess(space.layout(row.candidate / space.schedules(), {&schedule, 1}), basis)
              .front();
      const bool is_timed = row.outcome == Outcome::simulated;
      std::string fault;
      if (is_timed && bound.outcome != Outcome::open)
        fault = "has no bound: " + bound.note;
      else if (is_timed && bound.bound_s > row.time_s * (1 + rounding))
        fault = fmt::format("is bounded by {} s, and takes {} s", bound.bound_s, row.time_s);
      else if (row.outcome != Outcome::illegal && bound.outcome != Outcome::illegal &&
               bound.peak_bytes > row.peak_bytes)
        fault = fmt::format("is bounded to at least {} bytes, but holds {}", bound.peak_bytes,
                            row.peak_bytes);
      else if (row.outcome == Outcome::illegal && bound.outcome == Outcome::open &&
               bound.basis == Basis::order)
        continue;  // Simulating it finds the fault.
      if (!fault.empty())
        faults += fmt::format("candidate {} on basis {}: {}\n", row.candidate,
                              static_cast<int>(basis), fault);
    }
  return faults;
}

std::string faults_of_rows(const analysis::SearchRun& run,
                           const std::vector<CandidateRow>& reference) {
  std::string faults;
  if (!run.finished || run.gap != 0) faults += fmt::format("not proven: gap {}\n", run.gap);
  if (run.rows.size() != reference.size())
    return faults + fmt::format("{} rows of {}\n", run.rows.size(), reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const CandidateRow& row = run.rows[i];
    const bool is_same = row.outcome == Outcome::simulated
                             ? without_bound(row) == without_bound(reference[i])
                             : row.candidate == reference[i].candidate;
    // Without simulating a candidate, a search may exclude it by its bound or its memory although
    // it is illegal.
    const bool goes =
        row.outcome == reference[i].outcome || row.outcome == Outcome::bounded_away ||
        (row.outcome == Outcome::does_not_fit && reference[i].outcome == Outcome::illegal);
    if (!is_same || !goes)
      faults += fmt::format("searched: {}\nsimulated: {}\n", analysis::to_json_line(row),
                            analysis::to_json_line(reference[i]));
  }
  return faults;
}

}  // namespace pipewright::tests
