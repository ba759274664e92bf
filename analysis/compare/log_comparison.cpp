#include "analysis/compare/log_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

// What a device does in an iteration, in Megatron's words.
using DeviceTimes = std::map<std::string, double>;

std::vector<DeviceTimes> predicted_times(const RunFigures& run) {
  std::vector<DeviceTimes> times(run.summary.devices.size());
  const double iterations = std::max(1U, run.summary.run.iterations);
  for (const TimedPass& pass : run.passes) {
    const char* const timer =
        pass.key.kind == PassKind::forward ? "forward-compute" : "backward-compute";
    times.at(pass.device)[timer] += (pass.end - pass.start) / iterations;
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const DeviceSummary& device = run.summary.devices[i];
    times[i]["forward-backward"] = (device.end_s - device.start_s) / iterations;
    if (device.step_s > 0) times[i]["optimizer"] = device.step_s / iterations;
  }
  return times;
}

void set_error(TimerComparison& timer) {
  if (timer.predicted && timer.measured && timer.measured->most > 0)
    timer.error = timer.predicted->most / timer.measured->most - 1;
}

std::optional<Range> range_of(const std::vector<DeviceTimes>& devices, const std::string& name) {
  std::optional<Range> range;
  for (const DeviceTimes& device : devices) {
    const auto time = device.find(name);
    if (time == device.end()) continue;
    if (!range) range = Range{time->second, time->second};
    range->least = std::min(range->least, time->second);
    range->most = std::max(range->most, time->second);
  }
  return range;
}

// Means over the iterations that report a timer.
struct Measured {
  double least = 0;
  double most = 0;
  double count = 0;
  std::map<std::uint32_t, double> of_rank;  // sums
};

std::map<std::string, Measured> measured_timers(std::span<const MegatronIteration> iterations) {
  std::map<std::string, Measured> timers;
  for (const MegatronIteration& iteration : iterations)
    for (const auto& [name, timer] : iteration.timers) {
      Measured& sum = timers[name];
      sum.least += timer.least_s;
      sum.most += timer.most_s;
      ++sum.count;
      for (const auto& [rank, time] : timer.of_rank) sum.of_rank[rank] += time;
    }
  return timers;
}

// Pipeline ranks are the outermost of Megatron's order (tp-cp-ep-dp-pp).
std::vector<double> of_devices(const Measured& timer, std::size_t devices) {
  const std::size_t ranks = timer.of_rank.size();
  if (ranks == 0 || ranks % devices != 0 || timer.of_rank.rbegin()->first + 1 != ranks) return {};
  const std::size_t group = ranks / devices;
  std::vector<double> means(devices, 0);
  for (const auto& [rank, time] : timer.of_rank)
    means[rank / group] += time / timer.count / static_cast<double>(group);
  return means;
}

}  // namespace

LogComparison compare_log(const RunFigures& predicted, const MegatronLog& log, std::size_t skip) {
  if (skip >= log.iterations.size())
    throw trace::TraceError(
        fmt::format("the log has {} iterations, and {} are skipped", log.iterations.size(), skip));
  const auto iterations = std::span(log.iterations).subspan(skip);
  LogComparison result{.iterations = iterations.size()};
  const auto count = static_cast<double>(iterations.size());
  double mean = 0;
  for (const MegatronIteration& one : iterations) mean += one.elapsed_s / count;
  for (const MegatronIteration& one : iterations)
    result.deviation_s += (one.elapsed_s - mean) * (one.elapsed_s - mean);
  result.deviation_s = count > 1 ? std::sqrt(result.deviation_s / (count - 1)) : 0;

  const double time = predicted.iteration_s.value_or(predicted.summary.makespan_s);
  result.timers.push_back({"iteration", Range{time, time}, Range{mean, mean}, {}});
  const std::vector<DeviceTimes> devices = predicted_times(predicted);
  result.devices.resize(devices.size());
  const auto timers = measured_timers(iterations);
  for (const auto& [name, timer] : timers) {
    result.timers.push_back({name,
                             range_of(devices, name),
                             Range{timer.least / timer.count, timer.most / timer.count},
                             {}});
    const std::vector<double> means = of_devices(timer, devices.size());
    for (std::size_t i = 0; i < means.size(); ++i) {
      const auto ours = devices[i].find(name);
      if (ours == devices[i].end()) continue;
      result.devices[i].push_back(
          {name, Range{ours->second, ours->second}, Range{means[i], means[i]}, {}});
      set_error(result.devices[i].back());
    }
  }
  for (TimerComparison& timer : result.timers) set_error(timer);
  return result;
}

Metrics predicted_metrics(const LogComparison& comparison) {
  return {
      {"iteration_s", "iteration", MetricKind::seconds, comparison.timers.front().predicted->most}};
}

Metrics measured_metrics(const LogComparison& comparison) {
  return {
      {"iteration_s", "iteration", MetricKind::seconds, comparison.timers.front().measured->most}};
}

}  // namespace pipewright::analysis
