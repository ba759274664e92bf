#include "sim/rl/timeline.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::rl {
namespace {

using analysis::RlPhase;

constexpr std::size_t timeline_parts = 600;  // equal parts of the time, for the engines

// Adds the trainer's phases of a step in their order. Times are relative to `zero`; spans end at
// `last` at the latest.
void add_phases(analysis::RlTimeline& timeline, const Setting& setting, const LoopStep& step,
                double zero) {
  const double updates = setting.update * setting.post.updates;
  const std::pair<RlPhase, double> phases[] = {
      {RlPhase::overhead, setting.loop.overhead},
      {RlPhase::log_probabilities, setting.post.logprob ? setting.forward : 0},
      {RlPhase::reference, setting.post.reference ? setting.forward : 0},
      {RlPhase::training, updates},
      {RlPhase::weights, setting.sync}};
  double time = step.trains - setting.loop.overhead - zero;
  for (const auto& [phase, seconds] : phases) {
    const double start = std::max(0.0, time);
    time += seconds;
    if (time > start) timeline.trainer.push_back({phase, start, time});
  }
}

// Adds the length of the overlap of a span with each part of the time, times `weight`.
void add_overlap(std::vector<double>& parts, double part, double start, double end, double weight) {
  if (end <= 0) return;
  const auto first = static_cast<std::size_t>(std::max(0.0, start) / part);
  for (std::size_t i = first; i < parts.size(); ++i) {
    const double from = part * static_cast<double>(i);
    if (from >= end) return;
    parts[i] += weight * (std::min(end, from + part) - std::max(start, from));
  }
}

}  // namespace

analysis::RlTimeline timeline_of(const Setting& setting, const LoopOutcome& outcome,
                                 std::size_t max_steps) {
  analysis::RlTimeline timeline;
  const std::size_t before = setting.loop.lag;  // the last step of the warm-up
  const std::size_t last = std::min(before + max_steps, outcome.steps.size() - 1);
  const double zero = outcome.steps.at(before).synced;
  timeline.seconds = outcome.steps.at(last).synced - zero;
  for (std::size_t step = before + 1; step <= last; ++step) {
    timeline.step_ends.push_back(outcome.steps[step].synced - zero);
    add_phases(timeline, setting, outcome.steps[step], zero);
  }
  const double part = timeline.seconds / static_cast<double>(timeline_parts);
  timeline.generating.resize(timeline_parts);
  timeline.responses.resize(timeline_parts);
  const double share = 1 / (part * setting.loop.engines);
  for (const EngineSpan& span : outcome.engine_spans) {
    add_overlap(timeline.generating, part, span.start - zero, span.end - zero, share);
    add_overlap(timeline.responses, part, span.start - zero, span.end - zero,
                share * static_cast<double>(span.responses));
  }
  return timeline;
}

}  // namespace pipewright::rl
