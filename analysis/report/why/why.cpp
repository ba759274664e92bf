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

std::string percent_of(double makespan, double seconds) {
  return format_percent(seconds / makespan);
}

// Returns the part of the critical path that takes the most time, except compute; null if there is
// none.
const PathShare* longest_wait(const PathSplit& path) {
  for (const PathShare& share : path.parts)
    if (share.part != CriticalPart::compute) return &share;
  return nullptr;
}

// Returns the stage whose passes would lengthen the run most if they were 10 % slower; null if
// another stage comes close to it, since it is then arbitrary which of them the critical path
// takes.
const StageSlack* pacemaker(const Slack& slack) {
  const StageSlack* costliest = nullptr;
  double runner_up_s = 0;
  for (const StageSlack& stage : slack.stages) {
    if (costliest == nullptr || stage.cost_s > costliest->cost_s) {
      runner_up_s = costliest == nullptr ? 0 : costliest->cost_s;
      costliest = &stage;
    } else {
      runner_up_s = std::max(runner_up_s, stage.cost_s);
    }
  }
  return costliest != nullptr && costliest->cost_s > 1.5 * runner_up_s ? costliest : nullptr;
}

// Returns a verdict such as "75.5 % of the critical path is compute, 24.1 % is collectives in
// passes; ..."
std::string verdict_on(const WhyReport& report) {
  const PathSplit& path = report.path;
  std::string text = report.has_inputs
                         ? fmt::format("{} of the critical path is compute",
                                       percent_of(report.makespan_s, path.computing_s))
                         : "critical path and slack are unknown: the trace has no arrival times "
                           "of inputs";
  if (const PathShare* wait = report.has_inputs ? longest_wait(path) : nullptr) {
    const std::string over =
        wait->link_class.empty() ? "" : fmt::format(" over {}", printable(wait->link_class));
    text += fmt::format(", {} is {}{}", percent_of(report.makespan_s, wait->seconds),
                        words(wait->part), over);
  }
  if (const StageSlack* stage = pacemaker(report.slack)) {
    const auto share = std::ranges::find(path.stages, stage->stage, &StageShare::stage);
    if (share != path.stages.end())
      text += fmt::format("; passes of stage {} are {} of it", stage->stage,
                          percent_of(report.makespan_s, share->seconds));
  }
  if (report.last_replica) text += fmt::format("; replica {} ends last", *report.last_replica);
  if (report.lost && !report.lost->causes.empty())
    text += fmt::format("; {} is lost, {} of that by {}",
                        percent_of(report.makespan_s, report.lost->seconds),
                        percent_of(report.lost->seconds, report.lost->causes.front().seconds),
                        words(report.lost->causes.front()));
  const auto idlest = std::ranges::max_element(
      report.devices, {}, [](const TimeSplit& split) { return split.bubble_s(); });
  if (idlest != report.devices.end() && idlest->bubble_s() > 0)
    text += fmt::format("; device {} has the largest bubble, {}", idlest->device,
                        percent_of(report.makespan_s, idlest->bubble_s()));
  return text;
}

}  // namespace

std::optional<Overflow> overflow_of(const Summary& run) {
  std::optional<Overflow> worst;
  std::uint64_t excess = 0;
  for (const DeviceSummary& device : run.devices) {
    if (device.over_capacity_bytes() <= excess) continue;
    excess = device.over_capacity_bytes();
    worst = {device.device, device.peak_memory_bytes, device.memory_capacity_bytes};
  }
  return worst;
}

double gain_s(const WhatIf& what_if, const WhatIfRow& row) {
  const double gain = what_if.rerun_s - row.makespan_s.value_or(what_if.rerun_s);
  return std::abs(gain) < 1e-8 * what_if.rerun_s ? 0 : gain;
}

WhyReport why(const trace::Trace& trace, const std::string& name, const Reruns& reruns) {
  if (trace.passes.empty())
    throw trace::TraceError(name + ": has no passes, so there is no makespan to explain");
  const TraceIndex index(trace);
  WhyReport report{.schedule = trace.run.schedule,
                   .chunks = trace.run.chunks,
                   .makespan_s = index.makespan(),
                   .evidence = trace.run.evidence};
  if (!(report.makespan_s > 0))
    throw trace::TraceError(name + ": all passes end at 0 s, so there is no makespan to explain");
  report.overflow = overflow_of(summarize(trace));
  report.has_inputs = index.has_inputs();
  Replicas run(index, reruns.replicas);
  const std::vector<CriticalPiece> path = critical_path(run);
  report.path = split_path(run, path);
  const trace::Trace* const ideal = reruns.ideal ? reruns.ideal(0) : nullptr;
  if (ideal != nullptr) {
    const TraceIndex ideal_index(*ideal);
    Replicas ideal_run(ideal_index, reruns.ideal);
    report.lost = lost_time(run, path, ideal_run);
  }
  if (!trace.waits.empty())
    report.last_replica = std::ranges::max_element(trace.waits, {}, &trace::WaitRow::time)->replica;
  report.devices = time_splits(index);
  report.pass_collectives = over_devices(trace.pass_collectives);
  report.slack = slack(index);
  report.verdict = verdict_on(report);
  return report;
}

}  // namespace pipewright::analysis
