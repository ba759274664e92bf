#include "sim/search/robust.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/scenario.hpp"
#include "sim/search/best_known.hpp"
#include "sim/search/draws.hpp"

namespace pipewright::search {
namespace {

using config::Field;
using config::Key;

std::uint32_t read_draws(const Field& field) {
  constexpr std::uint32_t max_draws = 10'000;
  const std::uint32_t count = config::read_count(field, "32");
  if (count > max_draws) throw config::wrong(field, "at most 10000 draws, such as 32");
  return count;
}

constexpr std::array robust_table{
    Key<RobustSettings>{
        {.name = "top", .help = "number of best candidates to compare", .default_value = "5"},
        [](const Field& f, RobustSettings& s) { s.top = config::read_count(f, "5"); }},
    Key<RobustSettings>{{.name = "draws",
                         .help = "number of times that conditions are drawn at random",
                         .default_value = "32"},
                        [](const Field& f, RobustSettings& s) { s.draws.draws = read_draws(f); }},
    Key<RobustSettings>{
        {.name = "seed", .help = "seed of the random draws", .default_value = "1"},
        [](const Field& f, RobustSettings& s) { s.draws.seed = config::read_count(f, "1"); }},
    Key<RobustSettings>{{.name = "jitter",
                         .help = "standard deviation of pass times, relative to their mean",
                         .default_value = "2 %"},
                        [](const Field& f, RobustSettings& s) {
                          s.draws.jitter = config::read_part(f, "a deviation");
                        }},
    Key<RobustSettings>{{.name = "network",
                         .help = "largest change of bandwidths and latencies, up or down",
                         .default_value = "20 %"},
                        [](const Field& f, RobustSettings& s) {
                          s.draws.network = config::read_part(f, "a part of the bandwidth");
                          if (s.draws.network >= 1)
                            throw config::wrong(f, "less than 100 %, such as 20 %");
                        }},
    Key<RobustSettings>{{.name = "slow",
                         .help = "largest slowdown of the GPU that is slow in some draws",
                         .default_value = "10 %"},
                        [](const Field& f, RobustSettings& s) {
                          s.draws.slow = config::read_part(f, "a slowdown");
                        }},
    Key<RobustSettings>{{.name = "slow_chance",
                         .help = "share of the draws with a slow GPU",
                         .default_value = "50 %"},
                        [](const Field& f, RobustSettings& s) {
                          s.draws.slow_chance = config::read_part(f, "a chance");
                        }},
    Key<RobustSettings>{
        {.name = "error",
         .help = "standard deviation of the error of comparisons (as in measured runs of this "
                 "kind)"},
        [](const Field& f, RobustSettings& s) { s.error = config::read_part(f, "an error"); }},
    Key<RobustSettings>{{.name = "turns",
                         .help = "look for perturbations that change the winner, true or false",
                         .default_value = "true"},
                        [](const Field& f, RobustSettings& s) { s.turns = config::read_flag(f); }},
};

// Returns a quantile of an expected error: interpolated linearly between its ends and its median,
// and extrapolated beyond its ends.
double quantile(const trace::ExpectedError& error, double part) {
  const double low = (1 - error.nominal) / 2;
  constexpr double middle = 0.5;
  return part < middle ? std::lerp(error.low, error.median, (part - low) / (middle - low))
                       : std::lerp(error.median, error.high, (part - middle) / (1 - low - middle));
}

void draw_errors(const std::optional<trace::ExpectedError>& error, std::uint64_t candidate,
                 const analysis::DrawSettings& settings, analysis::RobustRow& row) {
  for (std::uint32_t draw = 0; draw < settings.draws; ++draw) {
    const Chance chance{settings.seed, draw};
    row.own_error.push_back(
        error ? std::exp(error->scatter * chance.normal(fmt::format("error/{}", candidate))) : 1);
    row.whole_error.push_back(error && error->rows > 0
                                  ? std::max(0.0, 1 + quantile(*error, chance.uniform("error")))
                                  : 1);
  }
}

}  // namespace

LinkClasses link_classes_of(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
                            const WhatIfRuns& what_if_runs) {
  std::map<std::string, double> classes;
  std::vector<std::uint32_t> seen;
  for (const std::size_t row : rows) {
    const std::uint32_t group = run.rows[row].group;
    if (std::ranges::count(seen, group) > 0) continue;
    seen.push_back(group);
    for (const auto& [name, bandwidth] : what_if_runs.link_classes(run.rows[row].candidate))
      classes.try_emplace(name, bandwidth);
  }
  return {classes.begin(), classes.end()};
}

RobustSettings read_robust_settings(std::span<const std::string> words, const std::string& option) {
  config::Value map{.origin = {option}};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw config::Error(fmt::format("{}: '{}' has no value", option, config::shown(word)))
          .suggest("write it as in draws=64");
    map.entries.push_back(
        {word.substr(0, equals), {option}, config::make_text(word.substr(equals + 1), {option})});
  }
  RobustSettings settings;
  config::read_keys<RobustSettings>({map, ""}, robust_table, settings);
  return settings;
}

std::string robust_settings_help() {
  std::string text;
  for (const config::KeyRow& key : config::rows_of(robust_table))
    text += fmt::format("  {:<12} {}\n", key.name, help_line(key));
  return text;
}

analysis::Robustness robustness(const analysis::SearchRun& run, const Space& space,
                                const RobustSettings& settings, const WhatIfRuns& what_if_runs,
                                const std::function<bool()>& stop) {
  analysis::Robustness robust{.settings = settings.draws, .top = settings.top};
  const std::vector<std::size_t> rows = best_rows(run, settings.top);
  if (rows.empty()) return robust;
  const LinkClasses classes = link_classes_of(run, rows, what_if_runs);
  for (const auto& [name, bandwidth] : classes) robust.link_classes.push_back(name);
  const trace::ExpectedError& error = run.rows[rows.front()].evidence.expected_error;
  if (error.rows > 0) robust.error = error;
  if (settings.error) {
    if (!robust.error) robust.error = trace::ExpectedError{};
    robust.error->scatter = *settings.error;
  }
  if (!robust.error)
    robust.notes.emplace_back(
        "the error of such predictions is unknown, as no similar runs were measured; --under "
        "error=4% sets it");

  const config::Scenario best =
      config::read_scenario(space.candidate(run.rows[rows.front()].candidate));
  if (best.symmetric && settings.draws.jitter > 0)
    robust.notes.emplace_back(
        "symmetric: one replica stands for all, so no replica waits for the slowest one");
  const std::vector<analysis::Draw> draws = make_draws(settings.draws, robust.link_classes);
  std::vector<WhatIfRun> runs;
  for (const analysis::Draw& draw : draws)
    for (const std::size_t row : rows) runs.push_back({run.rows[row].candidate, draw});
  const std::vector<Attempt> attempts = what_if_runs.simulate(runs, stop);
  const auto missing = std::ranges::find(attempts, true, &Attempt::is_missing);
  robust.settings.draws =
      static_cast<std::uint32_t>((missing - attempts.begin()) / std::ssize(rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    analysis::RobustRow& row = robust.rows.emplace_back();
    row.row = rows[i];
    std::string why;
    for (std::size_t draw = 0; draw < robust.settings.draws; ++draw) {
      const Attempt& attempt = attempts[draw * rows.size() + i];
      row.seconds.push_back(attempt.seconds);
      if (attempt.seconds == 0 && why.empty()) why = attempt.why_not;
    }
    if (!why.empty())
      robust.notes.push_back(fmt::format("{}: {}", candidate_name(run, run.rows[rows[i]]), why));
    draw_errors(robust.error, run.rows[rows[i]].candidate, robust.settings, row);
  }
  return robust;
}

}  // namespace pipewright::search
