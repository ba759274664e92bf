#include "sim/goodput/study.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "sim/goodput/closed_forms.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/runs.hpp"

namespace pipewright::goodput {
namespace {

using config::Goodput;

// Seeds of what is compared with the training as asked: they have the same failures, so that few
// tell a small difference.
constexpr std::uint64_t compared_seeds = 60;

std::vector<Variant> other_intervals(const Setting& asked, std::uint64_t seeds) {
  std::vector<Variant> variants;
  const double whole = std::min(asked.duration, asked.target);
  if (stops(asked) <= 0) return variants;
  const double middle = best_by_formula(asked);
  for (int step = -4; step <= 4; ++step) {
    Setting setting = asked;
    setting.interval = middle * std::pow(2, step / 2.0);
    if (setting.interval < std::max(1.0, asked.least_interval) || setting.interval > whole)
      continue;
    if (std::abs(setting.interval / asked.interval - 1) < 1e-6) continue;
    variants.push_back({analysis::format_seconds(setting.interval), setting, seeds});
  }
  return variants;
}

std::vector<Variant> what_ifs(const Setting& asked, std::uint64_t seeds) {
  std::vector<Variant> variants;
  const auto add = [&](std::string name, const auto& change) {
    Setting setting = asked;
    change(setting);
    if (setting != asked) variants.push_back({std::move(name), std::move(setting), seeds});
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
    if (mode != asked.mode)
      add(fmt::format("checkpoints: {}", config::name_of(mode)), [&](Setting& s) {
        s.mode = mode;
        s.interval = best_by_formula(s);
      });
  add("restart in half the time", [](Setting& s) { s.restart /= 2; });
  add("detection at once", [](Setting& s) {
    for (FailureKind& kind : s.failures) kind.detection = 0;
    for (TracedFailure& failure : s.trace) failure.kind.detection = 0;
  });
  // As many as are in repair on average, and one and two standard deviations more (Poisson).
  double broken = 0;
  for (const FailureKind& kind : asked.failures) broken += kind.rate * kind.repair * kind.nodes;
  std::uint32_t last = asked.nodes;
  for (const double more : {-1.0, 0.0, 1.0, 2.0}) {
    const double spares = more < 0 ? 0 : broken + more * std::sqrt(broken);
    const auto count = static_cast<std::uint32_t>(std::ceil(spares));
    if (count == last || count > asked.nodes) continue;
    last = count;
    add(analysis::counted(count, "spare node"), [&](Setting& s) { s.spares = count; });
  }
  add("always a spare node", [](Setting& s) { s.spares.reset(); });
  if (asked.spares && asked.replicas > 1)
    add(asked.elastic ? "wait for nodes" : "go on with fewer replicas",
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
  analysis::GoodputVariant found{
      .name = variant.name,
      .interval_s = variant.setting.interval,
      .nodes = variant.setting.nodes + variant.setting.spares.value_or(0)};
  for (const analysis::GoodputOutcome& outcome : outcomes) found.ratios.push_back(outcome.ratio());
  return found;
}

// What is known without a simulation.
analysis::GoodputReport describe(const config::Scenario& scenario, const Iteration& iteration,
                                 const Setting& setting) {
  analysis::GoodputReport report{.title = scenario.title,
                                 .what = iteration.what,
                                 .gpus = iteration.gpus,
                                 .nodes = setting.nodes,
                                 .spares = setting.spares,
                                 .iteration_s = iteration.seconds,
                                 .tokens_per_iteration = iteration.tokens};
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
      {report.interval_is_given ? "as asked" : "as simulated", setting, options.seeds}};
  std::size_t intervals = 0;
  if (!options.only_asked) {
    const std::uint64_t seeds = std::min(options.seeds, compared_seeds);
    for (Variant& one : other_intervals(setting, seeds)) variants.push_back(std::move(one));
    intervals = variants.size() - 1;
    for (Variant& one : what_ifs(setting, seeds)) variants.push_back(std::move(one));
  }
  const RunOptions run_options{
      .first_seed = scenario.variation.seed, .jobs = options.jobs, .look = options.look};
  const auto outcomes = run(variants, run_options, journal);

  report.target_tokens = options.tokens;
  report.outcomes = outcomes.front();
  for (std::size_t i = 1; i < variants.size(); ++i)
    (i <= intervals ? report.intervals : report.worth)
        .push_back(variant_of(variants[i], outcomes[i]));
  if (!options.only_asked) {
    analysis::GoodputVariant asked = variant_of(variants.front(), outcomes.front());
    asked.ratios.resize(std::min<std::size_t>(asked.ratios.size(), compared_seeds));
    report.intervals.push_back(std::move(asked));
    std::ranges::stable_sort(report.intervals, {}, &analysis::GoodputVariant::interval_s);
  }
  report.shown = middle_of(report.outcomes);
  if (options.spans) report.spans = spans_of(setting, report.outcomes[report.shown].seed);
  return report;
}

}  // namespace pipewright::goodput
