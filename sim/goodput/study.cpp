#include "sim/goodput/study.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "sim/goodput/closed_forms.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/runs.hpp"

namespace pipewright::goodput {
namespace {

using config::Goodput;

// Number of seeds for variants. Variants have the same failures as the requested run, so few seeds
// suffice to show a small difference.
constexpr std::uint64_t compared_seeds = 60;

std::vector<Variant> other_intervals(const Setting& requested, std::uint64_t seeds) {
  std::vector<Variant> variants;
  const double whole = std::min(requested.duration, requested.target);
  if (interruption_rate(requested) <= 0) return variants;
  const double middle = best_by_formula(requested);
  for (int step = -4; step <= 4; ++step) {
    Setting setting = requested;
    setting.interval = middle * std::pow(2, step / 2.0);
    if (setting.interval < std::max(1.0, requested.min_interval) || setting.interval > whole)
      continue;
    if (std::abs(setting.interval / requested.interval - 1) < 1e-6) continue;
    variants.push_back({analysis::format_seconds(setting.interval), setting, seeds});
  }
  return variants;
}

std::vector<Variant> what_ifs(const Setting& requested, std::uint64_t seeds) {
  std::vector<Variant> variants;
  const auto add = [&](std::string name, const auto& change) {
    Setting setting = requested;
    change(setting);
    if (setting != requested) variants.push_back({std::move(name), std::move(setting), seeds});
  };
  add("storage twice as fast", [](Setting& s) {
    s.storage *= 2;
    s.read *= 2;
  });
  add("storage ten times as fast", [](Setting& s) {
    s.storage *= 10;
    s.read *= 10;
  });
  for (const Goodput::Mode mode : {Goodput::Mode::async, Goodput::Mode::peer})
    if (mode != requested.mode)
      add(fmt::format("checkpoints: {}", config::name_of(mode)), [&](Setting& s) {
        s.mode = mode;
        s.interval = best_by_formula(s);
      });
  add("restart twice as fast", [](Setting& s) { s.restart /= 2; });
  add("instant detection", [](Setting& s) {
    for (FailureKind& kind : s.failures) kind.detection = 0;
    for (TracedFailure& failure : s.trace) failure.kind.detection = 0;
  });
  // Numbers of spare nodes to compare: 0, the mean number of nodes in repair, and one and two
  // standard deviations more (Poisson).
  double broken = 0;
  for (const FailureKind& kind : requested.failures)
    broken += kind.rate * kind.repair * (kind.nodes + kind.drained);
  std::uint32_t previous_count = requested.nodes;
  for (const double more : {-1.0, 0.0, 1.0, 2.0}) {
    const double spares = more < 0 ? 0 : broken + more * std::sqrt(broken);
    const auto count = static_cast<std::uint32_t>(std::ceil(spares));
    if (count == previous_count || count > requested.nodes) continue;
    previous_count = count;
    add(analysis::counted(count, "spare node"), [&](Setting& s) { s.spares = count; });
  }
  add("unlimited spare nodes", [](Setting& s) { s.spares.reset(); });
  if (requested.spares && requested.replicas > 1)
    add(requested.elastic ? "wait for nodes" : "continue with fewer replicas",
        [](Setting& s) { s.elastic = !s.elastic; });
  add("half as many failures", [](Setting& s) {
    for (FailureKind& kind : s.failures) kind.rate /= 2;
    s.interval = best_by_formula(s);
  });
  add("no planned stops", [](Setting& s) { s.planned_every = never; });
  add("no stragglers", [](Setting& s) { s.straggler_rate = 0; });
  add("no silent corruption", [](Setting& s) { s.corruption_rate = 0; });
  return variants;
}

analysis::GoodputVariant variant_of(const Variant& variant,
                                    const std::vector<analysis::GoodputOutcome>& outcomes) {
  analysis::GoodputVariant result{
      .name = variant.name,
      .interval_s = variant.setting.interval,
      .nodes = variant.setting.nodes + variant.setting.spares.value_or(0)};
  for (const analysis::GoodputOutcome& outcome : outcomes) result.ratios.push_back(outcome.ratio());
  return result;
}

// Returns what fails how often, as the scenario gives it.
std::vector<std::string> failure_texts(const Goodput& goodput) {
  std::vector<std::string> texts;
  for (const Goodput::Failure& failure : goodput.failures)
    texts.push_back(
        fmt::format("{} {:g} per 1000 {}-days", config::name_of(failure.kind), failure.rate,
                    config::failure_units.at(static_cast<std::size_t>(unit_of(failure)))));
  if (goodput.trace)
    texts.push_back("the recorded failures of " + goodput.trace->value.filename().string());
  return texts;
}

// Fills the part of the report that needs no simulation.
analysis::GoodputReport describe(const config::Scenario& scenario, const Iteration& iteration,
                                 const Setting& setting) {
  analysis::GoodputReport report{.title = scenario.title,
                                 .subject = iteration.subject,
                                 .gpus = iteration.gpus,
                                 .nodes = setting.nodes,
                                 .racks = iteration.racks,
                                 .spares = setting.spares,
                                 .iteration_s = iteration.seconds,
                                 .tokens_per_iteration = iteration.tokens,
                                 .expected_error = iteration.expected_error,
                                 .iteration_notes = iteration.notes};
  if (scenario.goodput) report.failures = failure_texts(*scenario.goodput);
  report.notes = notes_of(scenario.goodput.value_or(Goodput{}), iteration);
  report.mode = config::name_of(setting.mode);
  report.checkpoint_bytes = setting.bytes;
  report.stall_s = stall(setting);
  report.write_s = flow_seconds(setting, setting.storage);
  report.interval_s = setting.interval;
  report.interval_is_given = scenario.goodput && scenario.goodput->checkpoint.interval;
  if (setting.mode == Goodput::Mode::peer) report.peer_interval_s = setting.peer_interval;
  const DalyModel model = daly_model(setting);
  const double up = 1 - planned_part(setting, setting.restart + setting.bytes / setting.read);
  report.exact_ratio = report.first_order_ratio =
      up * model.interval / (model.interval + model.stall);
  if (model.mean == never) return report;
  report.mean_between_s = model.mean;
  report.young_s = young_interval(model.storage_stall, model.mean);
  report.daly_s = daly_interval(model.storage_stall, model.mean);
  report.exact_ratio = up * exact_ratio(model.interval, model.stall, model.restart, model.mean);
  report.first_order_ratio =
      up * first_order_ratio(model.interval, model.stall, model.restart, model.mean);
  return report;
}

}  // namespace

analysis::GoodputReport study(const config::Scenario& scenario, const Iteration& iteration,
                              const StudyOptions& options, Journal* journal) {
  const Setting setting = make_setting(scenario.goodput.value_or(Goodput{}), scenario.parallel,
                                       iteration, options.tokens);
  analysis::GoodputReport report = describe(scenario, iteration, setting);
  std::vector<Variant> variants{
      {report.interval_is_given ? "requested" : "simulated", setting, options.seeds}};
  std::size_t intervals = 0;
  if (!options.without_variants) {
    const std::uint64_t seeds = std::min(options.seeds, compared_seeds);
    for (Variant& variant : other_intervals(setting, seeds)) variants.push_back(std::move(variant));
    intervals = variants.size() - 1;
    for (Variant& variant : what_ifs(setting, seeds)) variants.push_back(std::move(variant));
  }
  std::set<std::size_t> failed;
  const RunOptions run_options{.first_seed = scenario.variation.seed,
                               .jobs = options.jobs,
                               .look = options.look,
                               .on_failed = [&](std::size_t variant) { failed.insert(variant); }};
  const auto outcomes = run(variants, run_options, journal);

  report.target_tokens = options.tokens;
  report.outcomes = outcomes.front();
  for (std::size_t i = 1; i < variants.size(); ++i) {
    const bool has_failed = failed.contains(i);
    if (i > intervals)
      report.worth.push_back(variant_of(
          variants[i], has_failed ? std::vector<analysis::GoodputOutcome>() : outcomes[i]));
    else if (!has_failed)
      report.intervals.push_back(variant_of(variants[i], outcomes[i]));
  }
  if (!options.without_variants) {
    analysis::GoodputVariant requested = variant_of(variants.front(), outcomes.front());
    requested.ratios.resize(std::min<std::size_t>(requested.ratios.size(), compared_seeds));
    report.intervals.push_back(std::move(requested));
    std::ranges::stable_sort(report.intervals, {}, &analysis::GoodputVariant::interval_s);
  }
  report.shown = median_of(report.outcomes);
  if (options.spans) report.spans = spans_of(setting, report.outcomes[report.shown].seed);
  return report;
}

}  // namespace pipewright::goodput
