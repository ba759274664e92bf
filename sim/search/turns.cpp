#include "sim/search/turns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"

namespace pipewright::search {
namespace {

constexpr double rounding = 1e-9;

// One thing that is made smaller or larger.
struct Knob {
  std::string what;    // "bandwidth of nic"
  std::string link;    // its class; empty: the latency of all ways
  double planned = 0;  // bytes/s, or nothing
  bool below = false;
};

analysis::Draw at(const Knob& knob, double factor) {
  analysis::Draw draw;
  if (knob.link.empty())
    draw.latency = factor;
  else
    draw.bandwidth[knob.link] = factor;
  return draw;
}

// Who wins there, and by how much over the first.
struct Winner {
  std::size_t row = 0;  // of those that are compared
  double lead = 0;
};

class Search {
 public:
  Search(const analysis::SearchRun& run, const std::vector<std::size_t>& rows, const Trials& trials)
      : run_(run), rows_(rows), trials_(trials) {}

  struct Question {
    Knob knob;
    double factor = 1;
  };
  // All at once, so that workers have much to do.
  std::vector<Winner> winners(const std::vector<Question>& questions) const {
    std::vector<Trial> all;
    for (const Question& question : questions)
      for (const std::size_t row : rows_)
        all.push_back({run_.rows[row].candidate, at(question.knob, question.factor)});
    const std::vector<Tried> tried = trials_.simulate(all);
    std::vector<Winner> winners;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const auto cost_at = [&](std::size_t row) {
        const analysis::CandidateRow& of = run_.rows[rows_[row]];
        const double seconds = tried[i * rows_.size() + row].seconds;
        return seconds > 0 ? cost(run_.objective, of.work, seconds, of.peak_bytes)
                           : std::numeric_limits<double>::infinity();
      };
      Winner winner;
      for (std::size_t row = 1; row < rows_.size(); ++row)
        if (cost_at(row) < cost_at(winner.row) * (1 - rounding)) winner.row = row;
      if (winner.row != 0) winner.lead = behind(run_.objective, cost_at(0), cost_at(winner.row));
      winners.push_back(winner);
    }
    return winners;
  }

 private:
  const analysis::SearchRun& run_;
  const std::vector<std::size_t>& rows_;
  const Trials& trials_;
};

// Between a factor at which the first wins and one at which it does not.
struct Bracket {
  Knob knob;
  double inner = 1;
  double outer = 1;
  double far = 1;   // what outer was at first
  double lead = 0;  // there
  Winner winner;    // at outer
};

constexpr std::array below{0.7, 0.5, 0.25};
constexpr std::array above{1.4, 2.0, 4.0};
constexpr int halvings = 4;  // of a bracket: to some 2 % of the planned value

std::vector<Bracket> find_brackets(const Search& search, const std::vector<Knob>& knobs) {
  std::vector<Search::Question> questions;
  for (const Knob& knob : knobs)
    for (const double factor : knob.below ? below : above) questions.push_back({knob, factor});
  const std::vector<Winner> winners = search.winners(questions);
  std::vector<Bracket> brackets;
  for (std::size_t i = 0; i < knobs.size(); ++i)
    for (std::size_t step = 0; step < below.size(); ++step) {
      const Winner& winner = winners[i * below.size() + step];
      if (winner.row == 0) continue;
      const auto& factors = knobs[i].below ? below : above;
      const double outer = factors.at(step);
      brackets.push_back({.knob = knobs[i],
                          .inner = step == 0 ? 1 : factors.at(step - 1),
                          .outer = outer,
                          .far = outer,
                          .lead = winner.lead,
                          .winner = winner});
      break;
    }
  return brackets;
}

void narrow(const Search& search, std::vector<Bracket>& brackets) {
  std::vector<Search::Question> questions;
  for (const Bracket& one : brackets)
    questions.push_back({one.knob, std::sqrt(one.inner * one.outer)});
  const std::vector<Winner> winners = search.winners(questions);
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    Bracket& one = brackets[i];
    if (winners[i].row == 0) {
      one.inner = questions[i].factor;
    } else {
      one.outer = questions[i].factor;
      one.winner = winners[i];
    }
  }
}

// With less than the winner holds, the best of those that were simulated and hold less.
std::optional<analysis::Turn> less_memory(const analysis::SearchRun& run, std::size_t best) {
  const analysis::CandidateRow& winner = run.rows[best];
  if (winner.peak_bytes == 0) return std::nullopt;
  for (const std::size_t row : analysis::find(run).ranked) {
    const analysis::CandidateRow& other = run.rows[row];
    if (other.peak_bytes >= winner.peak_bytes || !std::isfinite(cost_of(run, other))) continue;
    return analysis::Turn{.what = "memory of a GPU",
                          .below = true,
                          .value = static_cast<double>(winner.peak_bytes),
                          .row = row,
                          .lead = behind(run.objective, cost_of(run, other), cost_of(run, winner)),
                          .is_memory = true};
  }
  return std::nullopt;
}

}  // namespace

void add_turns(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
               const LinkClasses& classes, const Trials& trials, analysis::Robustness& robust) {
  std::vector<Knob> knobs;
  for (const bool is_below : {true, false}) {
    for (const auto& [name, bandwidth] : classes)
      knobs.push_back({fmt::format("bandwidth of {}", name), name, bandwidth, is_below});
    knobs.push_back({"latencies", "", 0, is_below});
  }
  const Search search(run, rows, trials);
  std::vector<Bracket> brackets;
  if (rows.size() > 1) {
    brackets = find_brackets(search, knobs);
    for (int i = 0; i < halvings && !brackets.empty(); ++i) narrow(search, brackets);
  }
  for (const Bracket& one : brackets)
    robust.turns.push_back({.what = one.knob.what,
                            .below = one.knob.below,
                            .factor = one.outer,
                            .value = one.outer * one.knob.planned,
                            .row = rows[one.winner.row],
                            .lead = one.lead,
                            .far = one.far});
  for (const Knob& knob : knobs) {
    const bool turns = std::ranges::any_of(
        brackets, [&](const Bracket& one) { return one.knob.what == knob.what; });
    if (knob.below && !turns && rows.size() > 1)
      robust.steady.push_back(fmt::format("{} at {:.0f} to {:.0f} %", knob.what, 100 * below.back(),
                                          100 * above.back()));
  }
  if (const auto turn = less_memory(run, rows.front())) robust.turns.push_back(*turn);
}

}  // namespace pipewright::search
