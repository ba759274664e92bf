#include "sim/search/perturbations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "sim/search/robust.hpp"

namespace pipewright::search {
namespace {

constexpr double cost_tolerance = 1e-9;  // relative

// A condition that is changed to see whether another candidate wins: the bandwidth of a class of
// links, or the latency.
struct Parameter {
  std::string name;        // "bandwidth of nic"
  std::string link_class;  // empty: the latency of all routes
  double planned = 0;      // bytes/s; 0 for latencies
  bool is_decrease = false;
};

analysis::Draw conditions_with(const Parameter& parameter, double factor) {
  analysis::Draw draw;
  if (parameter.link_class.empty())
    draw.latency = factor;
  else
    draw.bandwidth[parameter.link_class] = factor;
  return draw;
}

// The best candidate under changed conditions, and its relative lead over the candidate that wins
// as planned, which is the first row.
struct Winner {
  std::size_t row = 0;  // index among the compared rows
  double lead = 0;
};

// Simulates the compared candidates again with one parameter scaled by a factor, and finds the best
// of them.
class Comparison {
 public:
  Comparison(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
             const WhatIfRuns& what_if_runs, const std::function<bool()>& stop)
      : run_(run), rows_(rows), what_if_runs_(what_if_runs), stop_(stop) {}

  struct Question {
    Parameter parameter;
    double factor = 1;
  };
  // Returns the winner for each question, or nothing if the simulations were stopped. Simulates for
  // all of them at once, so that all processes are busy.
  std::optional<std::vector<Winner>> winners(const std::vector<Question>& questions) const {
    std::vector<WhatIfRun> runs;
    for (const Question& question : questions)
      for (const std::size_t row : rows_)
        runs.push_back(
            {run_.rows[row].candidate, conditions_with(question.parameter, question.factor)});
    const std::vector<Attempt> attempts = what_if_runs_.simulate(runs, stop_);
    if (std::ranges::any_of(attempts, &Attempt::is_missing)) return std::nullopt;
    std::vector<Winner> winners;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const auto cost_at = [&](std::size_t row) {
        const analysis::CandidateRow& candidate = run_.rows[rows_[row]];
        const double seconds = attempts[i * rows_.size() + row].seconds;
        return seconds > 0 ? cost(run_.objective, candidate.work, seconds, candidate.peak_bytes)
                           : std::numeric_limits<double>::infinity();
      };
      Winner winner;
      for (std::size_t row = 1; row < rows_.size(); ++row)
        if (cost_at(row) < cost_at(winner.row) * (1 - cost_tolerance)) winner.row = row;
      if (winner.row != 0)
        winner.lead = relative_loss(run_.objective, cost_at(0), cost_at(winner.row));
      winners.push_back(winner);
    }
    return winners;
  }

 private:
  const analysis::SearchRun& run_;
  const std::vector<std::size_t>& rows_;
  const WhatIfRuns& what_if_runs_;
  const std::function<bool()>& stop_;
};

// A range of factors that contains a change of winner: the first row wins at `inner` and does not
// win at `outer`.
struct Bracket {
  Parameter parameter;
  double inner = 1;
  double outer = 1;
  double far = 1;   // the first value of outer
  double lead = 0;  // lead of the winner at `far`
  Winner winner;    // at outer
};

constexpr std::array decreases{0.7, 0.5, 0.25};
constexpr std::array increases{1.4, 2.0, 4.0};
constexpr int bisections = 4;  // narrow a bracket to some 2 % of the planned value

// Returns nothing if the simulations were stopped.
std::optional<std::vector<Bracket>> find_brackets(const Comparison& comparison,
                                                  const std::vector<Parameter>& parameters) {
  std::vector<Comparison::Question> questions;
  for (const Parameter& parameter : parameters)
    for (const double factor : parameter.is_decrease ? decreases : increases)
      questions.push_back({parameter, factor});
  const std::optional<std::vector<Winner>> winners = comparison.winners(questions);
  if (!winners) return std::nullopt;
  std::vector<Bracket> brackets;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (std::size_t step = 0; step < decreases.size(); ++step) {
      const Winner& winner = (*winners)[i * decreases.size() + step];
      if (winner.row == 0) continue;
      const auto& factors = parameters[i].is_decrease ? decreases : increases;
      const double outer = factors.at(step);
      brackets.push_back({.parameter = parameters[i],
                          .inner = step == 0 ? 1 : factors.at(step - 1),
                          .outer = outer,
                          .far = outer,
                          .lead = winner.lead,
                          .winner = winner});
      break;
    }
  return brackets;
}

// Halves every bracket once, by a simulation at the geometric mean of its ends. Returns whether the
// simulations ended before they were stopped.
bool narrow(const Comparison& comparison, std::vector<Bracket>& brackets) {
  std::vector<Comparison::Question> questions;
  for (const Bracket& bracket : brackets)
    questions.push_back({bracket.parameter, std::sqrt(bracket.inner * bracket.outer)});
  const std::optional<std::vector<Winner>> winners = comparison.winners(questions);
  if (!winners) return false;
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    Bracket& bracket = brackets[i];
    if ((*winners)[i].row == 0) {
      bracket.inner = questions[i].factor;
    } else {
      bracket.outer = questions[i].factor;
      bracket.winner = (*winners)[i];
    }
  }
  return true;
}

// Finds the perturbation to less memory than the winner needs: the winner is then the best
// simulated candidate that needs less.
std::optional<analysis::Perturbation> less_memory(const analysis::SearchRun& run,
                                                  std::size_t best) {
  const analysis::CandidateRow& winner = run.rows[best];
  if (winner.peak_bytes == 0) return std::nullopt;
  for (const std::size_t row : analysis::find(run).ranked) {
    const analysis::CandidateRow& smaller = run.rows[row];
    if (smaller.peak_bytes >= winner.peak_bytes || !std::isfinite(cost_of(run, smaller))) continue;
    return analysis::Perturbation{
        .parameter = "memory of a GPU",
        .is_decrease = true,
        .value = static_cast<double>(winner.peak_bytes),
        .row = row,
        .lead = relative_loss(run.objective, cost_of(run, smaller), cost_of(run, winner)),
        .is_memory = true};
  }
  return std::nullopt;
}

}  // namespace

void add_perturbations(const analysis::SearchRun& run, const WhatIfRuns& what_if_runs,
                       const std::function<bool()>& stop, analysis::Robustness& robust) {
  if (robust.rows.empty()) return;
  std::vector<std::size_t> rows;
  for (const analysis::RobustRow& row : robust.rows) rows.push_back(row.row);
  if (const auto perturbation = less_memory(run, rows.front()))
    robust.perturbations.push_back(*perturbation);
  if (rows.size() < 2) return;

  const LinkClasses classes = link_classes_of(run, rows, what_if_runs);
  std::vector<Parameter> parameters;
  for (const bool is_decrease : {true, false}) {
    for (const auto& [name, bandwidth] : classes)
      parameters.push_back({fmt::format("bandwidth of {}", name), name, bandwidth, is_decrease});
    parameters.push_back({"latencies", "", 0, is_decrease});
  }
  const Comparison comparison(run, rows, what_if_runs, stop);
  std::optional<std::vector<Bracket>> brackets = find_brackets(comparison, parameters);
  robust.turns_are_cut = !brackets;
  if (!brackets) return;
  for (int i = 0; i < bisections && !brackets->empty() && !robust.turns_are_cut; ++i)
    robust.turns_are_cut = !narrow(comparison, *brackets);
  std::vector<analysis::Perturbation> turns;
  for (const Bracket& bracket : *brackets)
    turns.push_back({.parameter = bracket.parameter.name,
                     .is_decrease = bracket.parameter.is_decrease,
                     .factor = bracket.outer,
                     .value = bracket.outer * bracket.parameter.planned,
                     .row = rows[bracket.winner.row],
                     .lead = bracket.lead,
                     .far_factor = bracket.far});
  robust.perturbations.insert(robust.perturbations.begin(), turns.begin(), turns.end());
  for (const Parameter& parameter : parameters) {
    const bool changes_winner = std::ranges::any_of(*brackets, [&](const Bracket& bracket) {
      return bracket.parameter.name == parameter.name;
    });
    if (parameter.is_decrease && !changes_winner)
      robust.without_effect.push_back(fmt::format("{} at {:.0f} to {:.0f} %", parameter.name,
                                                  100 * decreases.back(), 100 * increases.back()));
  }
}

}  // namespace pipewright::search
