#include "sim/cli/trace/profile_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/compare/timed_pass.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::cli {
namespace {

using analysis::PassTime;
using trace::PassKind;

const PassTime* find(const std::vector<PassTime>& times, std::uint32_t stage, PassKind kind) {
  const auto found = std::ranges::find_if(
      times, [&](const PassTime& time) { return time.stage == stage && time.kind == kind; });
  return found == times.end() ? nullptr : &*found;
}

// Stages in the order of a scenario's list.
std::vector<std::uint32_t> stages_in_order(const trace::Trace& trace) {
  std::vector<std::uint32_t> stages;
  std::vector<trace::StageRow> rows = trace.stages;
  if (trace.run.chunks == 1)
    std::ranges::stable_sort(rows, {}, &trace::StageRow::device);
  else
    std::ranges::stable_sort(rows, {}, &trace::StageRow::stage);
  for (const trace::StageRow& row : rows)
    if (std::ranges::find(stages, row.stage) == stages.end()) stages.push_back(row.stage);
  return stages;
}

}  // namespace

std::vector<TimeList> time_lists(const trace::Trace& trace, const std::vector<PassTime>& times) {
  const auto has = [&](PassKind kind) {
    return std::ranges::any_of(times, [&](const PassTime& time) { return time.kind == kind; });
  };
  const bool halves = has(PassKind::input_grad) || has(PassKind::weight_grad);
  const std::vector<std::uint32_t> stages = stages_in_order(trace);
  const auto list = [&](const char* key, PassKind kind) {
    TimeList result{.key = key, .seconds = {}, .comments = {}};
    for (const std::uint32_t stage : stages) {
      const PassTime* time = find(times, stage, kind);
      const bool halved = time == nullptr && halves && kind != PassKind::forward;
      if (halved) time = find(times, stage, PassKind::backward);
      if (time == nullptr)
        throw trace::TraceError(
            fmt::format("stage {} has no pass of kind {}", stage, analysis::pass_letter(kind)));
      result.seconds.push_back(time->median / (halved ? 2 : 1));
      result.comments.push_back(fmt::format("stage {}: {} passes, {} to {}{}", stage, time->passes,
                                            analysis::format_seconds(time->least),
                                            analysis::format_seconds(time->most),
                                            halved ? ", whole backwards" : ""));
    }
    return result;
  };
  std::vector<TimeList> lists{list("forward_times", PassKind::forward)};
  if (halves) {
    lists.push_back(list("input_grad_times", PassKind::input_grad));
    lists.push_back(list("weight_grad_times", PassKind::weight_grad));
  } else {
    lists.push_back(list("backward_times", PassKind::backward));
  }
  return lists;
}

std::string time_text(double seconds) {
  std::string text = fmt::format("{:.9f}", seconds * 1e3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " ms";
}

std::string yaml_text(const TimeList& list) {
  std::string text = list.key + ":\n";
  for (std::size_t i = 0; i < list.seconds.size(); ++i)
    text += fmt::format("  - {}  # {}\n", time_text(list.seconds[i]), list.comments[i]);
  return text;
}

}  // namespace pipewright::cli
