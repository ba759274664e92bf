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
#include "sim/search/error_band.hpp"
#include "sim/search/turns.hpp"

namespace pipewright::search {
namespace {

using config::Field;
using config::Key;

std::uint32_t read_draws(const Field& field) {
  constexpr std::uint32_t most = 10'000;
  const std::uint32_t count = config::read_count(field, "32");
  if (count > most) throw config::wrong(field, "at most 10000 draws, such as 32");
  return count;
}

constexpr std::array table{
    Key<RobustSettings>{
        {.name = "top", .help = "so many of the best", .default_value = "5"},
        [](const Field& f, RobustSettings& s) { s.top = config::read_count(f, "5"); }},
    Key<RobustSettings>{{.name = "draws", .help = "conditions to meet", .default_value = "32"},
                        [](const Field& f, RobustSettings& s) { s.draws.draws = read_draws(f); }},
    Key<RobustSettings>{
        {.name = "seed", .help = "of the draws", .default_value = "1"},
        [](const Field& f, RobustSettings& s) { s.draws.seed = config::read_count(f, "1"); }},
    Key<RobustSettings>{{.name = "jitter",
                         .help = "standard deviation of a pass's time over its mean",
                         .default_value = "2 %"},
                        [](const Field& f, RobustSettings& s) {
                          s.draws.jitter = config::read_part(f, "a deviation");
                        }},
    Key<RobustSettings>{{.name = "network",
                         .help = "bandwidths and latencies by so much up or down",
                         .default_value = "20 %"},
                        [](const Field& f, RobustSettings& s) {
                          s.draws.network = config::read_part(f, "a part of the bandwidth");
                          if (s.draws.network >= 1)
                            throw config::wrong(f, "less than all of it, such as 20 %");
                        }},
    Key<RobustSettings>{
        {.name = "slow", .help = "one GPU takes longer by up to this", .default_value = "10 %"},
        [](const Field& f, RobustSettings& s) {
          s.draws.slow = config::read_part(f, "a slow-down");
        }},
    Key<RobustSettings>{
        {.name = "slow_chance", .help = "in this part of the draws", .default_value = "50 %"},
        [](const Field& f, RobustSettings& s) {
          s.draws.slow_chance = config::read_part(f, "a chance");
        }},
    Key<RobustSettings>{
        {.name = "error",
         .help = "that comparisons are off by, a standard deviation (that of "
                 "measured runs of this kind)"},
        [](const Field& f, RobustSettings& s) { s.error = config::read_part(f, "an error"); }},
    Key<RobustSettings>{{.name = "turns",
                         .help = "look for what changes the winner, true or false",
                         .default_value = "true"},
                        [](const Field& f, RobustSettings& s) { s.turns = config::read_flag(f); }},
};

// Of all clusters that the candidates are on.
LinkClasses classes_of(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
                       const Trials& trials) {
  std::map<std::string, double> classes;
  std::vector<std::uint32_t> seen;
  for (const std::size_t row : rows) {
    const std::uint32_t group = run.rows[row].group;
    if (std::ranges::count(seen, group) > 0) continue;
    seen.push_back(group);
    for (const auto& [name, bandwidth] : trials.link_classes(run.rows[row].candidate))
      classes.try_emplace(name, bandwidth);
  }
  return {classes.begin(), classes.end()};
}

// Linear between the percentiles that a band has, and on beyond them.
double at(const analysis::ErrorBand& band, double part) {
  constexpr double low = 0.05;
  constexpr double middle = 0.5;
  return part < middle ? std::lerp(band.low, band.middle, (part - low) / (middle - low))
                       : std::lerp(band.middle, band.high, (part - middle) / (1 - low - middle));
}

void draw_errors(const std::optional<analysis::ErrorBand>& band, std::uint64_t candidate,
                 const analysis::DrawSettings& settings, analysis::RobustRow& row) {
  for (std::uint32_t draw = 0; draw < settings.draws; ++draw) {
    const Chance chance{settings.seed, draw};
    row.own_error.push_back(
        band ? std::exp(band->scatter * chance.normal(fmt::format("error/{}", candidate))) : 1);
    row.whole_error.push_back(band ? std::max(0.0, 1 + at(*band, chance.uniform("error"))) : 1);
  }
}

}  // namespace

RobustSettings read_robust_settings(std::span<const std::string> words, const std::string& option) {
  config::Value map{.origin = {option}};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw config::Error(fmt::format("{}: '{}' sets nothing; write it as in draws=64", option,
                                      config::shown(word)));
    map.entries.push_back(
        {word.substr(0, equals), {option}, config::make_text(word.substr(equals + 1), {option})});
  }
  RobustSettings settings;
  config::read_keys<RobustSettings>({map, ""}, table, settings);
  return settings;
}

std::string robust_settings_help() {
  std::string text;
  for (const config::KeyRow& key : config::rows_of(table))
    text += fmt::format("  {:<12} {}\n", key.name, help_line(key));
  return text;
}

analysis::Robustness robustness(const analysis::SearchRun& run, const Space& space,
                                const RobustSettings& settings, const Trials& trials,
                                const std::string& gpu) {
  analysis::Robustness robust{.settings = settings.draws};
  const std::vector<std::size_t> rows = best_rows(run, settings.top);
  if (rows.empty()) return robust;
  const LinkClasses classes = classes_of(run, rows, trials);
  for (const auto& [name, bandwidth] : classes) robust.link_classes.push_back(name);
  robust.band = error_band(space.candidate(run.rows[rows.front()].candidate), gpu);
  if (settings.error) {
    if (!robust.band) robust.band = analysis::ErrorBand{.kind = "none like it"};
    robust.band->scatter = *settings.error;
  }
  if (!robust.band)
    robust.notes.emplace_back(
        "no measured runs tell how far such predictions are off; --under error=4% sets it");

  const config::Scenario best =
      config::read_scenario(space.candidate(run.rows[rows.front()].candidate));
  if (best.symmetric && settings.draws.jitter > 0)
    robust.notes.emplace_back(
        "symmetric: one replica stands for all, so that none waits for the slowest of them");
  const std::vector<analysis::Draw> draws = make_draws(settings.draws, robust.link_classes);
  std::vector<Trial> all;
  for (const std::size_t row : rows)
    for (const analysis::Draw& draw : draws) all.push_back({run.rows[row].candidate, draw});
  const std::vector<Tried> tried = trials.simulate(all);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    analysis::RobustRow& row = robust.rows.emplace_back();
    row.row = rows[i];
    std::string why;
    for (std::size_t draw = 0; draw < draws.size(); ++draw) {
      const Tried& one = tried[i * draws.size() + draw];
      row.seconds.push_back(one.seconds);
      if (one.seconds == 0 && why.empty()) why = one.why_not;
    }
    if (!why.empty())
      robust.notes.push_back(fmt::format("{}: {}", named(run, run.rows[rows[i]]), why));
    draw_errors(robust.band, run.rows[rows[i]].candidate, settings.draws, row);
  }
  if (settings.turns) add_turns(run, rows, classes, trials, robust);
  return robust;
}

}  // namespace pipewright::search
