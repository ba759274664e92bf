#include "sim/cli/search/sweep_progress.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "sim/base/enum_names.hpp"

namespace pipewright::cli {
namespace {

using Phase = search::State::Phase;

std::uint64_t count_of(const search::State& state, analysis::Outcome outcome) {
  return state.outcomes[static_cast<std::size_t>(outcome)];
}

std::string_view title_of(Phase phase) {
  return phase == Phase::front ? "best is proven; runner-up and front (skipped with --no-front)"
                               : base::name_of(search::State::phase_names, phase);
}

std::string readable_duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  constexpr std::uint64_t minute = 60;
  constexpr std::uint64_t hour = 60 * minute;
  if (whole < minute) return fmt::format("{} s", whole);
  if (whole < hour) return fmt::format("{}:{:02} min", whole / minute, whole % minute);
  return fmt::format("{}:{:02} h", whole / hour, whole % hour / minute);
}

}  // namespace

SweepProgress::SweepProgress(bool quiet) : bar_("search", !quiet, ProgressBar::InLogs::yes) {}

std::string SweepProgress::details(const search::State& state, const analysis::SearchRun& run,
                                   double& share) {
  const double now = bar_.seconds();
  const bool assessing = state.phase == Phase::assessing;
  const std::uint64_t finished = assessing ? state.assessed
                                           : count_of(state, analysis::Outcome::simulated) +
                                                 count_of(state, analysis::Outcome::failed);
  if (state.phase != phase_) {
    phase_ = state.phase;
    phase_began_ = now;
    done_before_ = finished;
  }
  const std::uint64_t done = finished - (assessing ? 0 : done_before_);
  const std::uint64_t left =
      assessing ? state.total - state.assessed : state.still_needed + state.running;
  const double total = static_cast<double>(done + left);
  share = total > 0 ? static_cast<double>(done) / total : 1;

  std::string text = fmt::format("{}: {}/{}", title_of(state.phase), done, done + left);
  const double rate = static_cast<double>(done) / std::max(1e-3, now - phase_began_);
  // Most candidates that are left in this phase will be dropped without a simulation, so their
  // number says little about the remaining time.
  if (done > 0 && state.phase == Phase::front)
    text += fmt::format(", {:.3g}/s", rate);
  else if (done > 0)
    text += fmt::format(", {:.3g}/s, {} left{}", rate,
                        readable_duration(static_cast<double>(left) / rate),
                        assessing ? "" : " at most");
  if (!state.best) return text;
  const analysis::CandidateRow& best = run.rows[*state.best];
  text += fmt::format(", best {}", analysis::cost_text(run.objective, best.work, state.best_cost));
  if (state.phase != Phase::front)
    text += fmt::format(", gap {}", analysis::format_percent(state.gap));
  return text;
}

void SweepProgress::show(const search::State& state, const analysis::SearchRun& run) {
  if (state.phase == Phase::done || !bar_.is_due()) return;
  double share = 0;
  const std::string text = details(state, run, share);
  bar_.draw(share, text);
}

}  // namespace pipewright::cli
