#include "analysis/report/why/why.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

std::string share(double seconds, double makespan) { return format_percent(seconds / makespan); }

// The longest part of the path that is no compute.
const PathShare* longest_wait(const PathSplit& path) {
  for (const PathShare& one : path.parts)
    if (one.part != CriticalPart::compute) return &one;
  return nullptr;
}

// The stage whose passes matter most, if no other comes near; or null. Where stages are alike,
// which of them the critical path goes along is chance.
const StageSlack* pacemaker(const Slack& slack) {
  const StageSlack* most = nullptr;
  double next = 0;
  for (const StageSlack& one : slack.stages) {
    if (most == nullptr || one.cost_s > most->cost_s) {
      next = most == nullptr ? 0 : most->cost_s;
      most = &one;
    } else {
      next = std::max(next, one.cost_s);
    }
  }
  return most != nullptr && most->cost_s > 1.5 * next ? most : nullptr;
}

// "75.5 % of the critical path is compute, 24.1 % is collectives in passes; ..."
std::string verdict_on(const WhyReport& report) {
  const PathSplit& path = report.path;
  std::string text = report.knows_inputs
                         ? fmt::format("{} of the critical path is compute",
                                       share(path.computing_s, report.makespan_s))
                         : "critical path and slack are not known: the trace does not say when "
                           "inputs arrived";
  if (const PathShare* wait = report.knows_inputs ? longest_wait(path) : nullptr) {
    const std::string over =
        wait->link_class.empty() ? "" : fmt::format(" over {}", printable(wait->link_class));
    text += fmt::format(", {} is {}{}", share(wait->seconds, report.makespan_s), words(wait->part),
                        over);
  }
  if (const StageSlack* stage = pacemaker(report.slack)) {
    const auto of_stage = std::ranges::find(path.stages, stage->stage, &StageShare::stage);
    if (of_stage != path.stages.end())
      text += fmt::format("; passes of stage {} are {} of it", stage->stage,
                          share(of_stage->seconds, report.makespan_s));
  }
  const auto idlest = std::ranges::max_element(
      report.devices, {}, [](const TimeSplit& split) { return split.bubble_s(); });
  if (idlest != report.devices.end() && idlest->bubble_s() > 0)
    text += fmt::format("; device {} has most bubble, {}", idlest->device,
                        share(idlest->bubble_s(), report.makespan_s));
  return text;
}

}  // namespace

double gain_s(const WhatIf& what_if, const WhatIfRow& row) {
  const double gain = what_if.rerun_s - row.makespan_s.value_or(what_if.rerun_s);
  return std::abs(gain) < 1e-8 * what_if.rerun_s ? 0 : gain;
}

WhyReport why(const trace::Trace& trace, const std::string& name) {
  if (trace.passes.empty())
    throw trace::TraceError(name +
                            ": has no passes, so nothing says why it takes as long as it does");
  const TraceIndex index(trace);
  WhyReport report{.schedule = trace.run.schedule,
                   .chunks = trace.run.chunks,
                   .makespan_s = index.makespan(),
                   .assumed = trace.run.assumed};
  if (!(report.makespan_s > 0))
    throw trace::TraceError(name + ": all its passes end at 0 s; passes that take time have a why");
  report.knows_inputs = index.knows_inputs();
  report.path = split_path(trace, critical_path(index));
  report.devices = time_splits(index);
  report.pass_collectives = over_devices(trace.pass_collectives);
  report.slack = slack(index);
  report.verdict = verdict_on(report);
  return report;
}

}  // namespace pipewright::analysis
