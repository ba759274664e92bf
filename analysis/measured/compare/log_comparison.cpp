#include "analysis/measured/compare/log_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

// Seconds per iteration of one device; the key is Megatron-LM's name of a timer.
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
    if (device.parts.optimizer > 0) times[i]["optimizer"] = device.parts.optimizer / iterations;
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

// Sums of a timer's values over all iterations that report it.
struct TimerSums {
  double least = 0;
  double most = 0;
  double count = 0;
  std::map<std::uint32_t, double> of_rank;
};

std::map<std::string, TimerSums> measured_timers(std::span<const LogIteration> iterations) {
  std::map<std::string, TimerSums> timers;
  for (const LogIteration& iteration : iterations)
    for (const auto& [name, timer] : iteration.timers) {
      TimerSums& sum = timers[name];
      sum.least += timer.least_s;
      sum.most += timer.most_s;
      ++sum.count;
      for (const auto& [rank, time] : timer.of_rank) sum.of_rank[rank] += time;
    }
  return timers;
}

// Returns the mean of a timer over the ranks of each device. The pipeline is the outermost
// dimension of Megatron's order of ranks (tp-cp-ep-dp-pp). Empty if the log lacks ranks.
std::vector<double> device_means(const TimerSums& timer, std::size_t devices) {
  const std::size_t ranks = timer.of_rank.size();
  if (ranks == 0 || ranks % devices != 0 || timer.of_rank.rbegin()->first + 1 != ranks) return {};
  const std::size_t group = ranks / devices;
  std::vector<double> means(devices, 0);
  for (const auto& [rank, time] : timer.of_rank)
    means[rank / group] += time / timer.count / static_cast<double>(group);
  return means;
}

// Returns Megatron-LM's name for a timer that DeepSpeed calls `name`.
std::string megatron_name(const std::string& name) {
  return name == "fwd" ? "forward-compute" : name == "bwd" ? "backward-compute" : name;
}

const LoggedTraining& chosen_run(const TrainingLog& log, std::optional<std::size_t> choice,
                                 std::vector<std::string>& notes) {
  const std::size_t count = log.runs.size();
  const std::size_t number = choice.value_or(count);
  if (number < 1 || number > count)
    throw trace::TraceError(
        fmt::format("the log has {}, but no run {}", counted(count, "run"), number));
  if (count > 1 && !choice)
    notes.push_back(fmt::format(
        "the log has {} (the iteration number restarts); the last one, from line {}, is "
        "compared; select another with --run",
        counted(count, "run"), log.runs[number - 1].line));
  return log.runs[number - 1];
}

// Compares FLOP/s by the rule of the log, if `flops` has it.
std::vector<RateComparison> compare_rates(const RunFigures& predicted,
                                          const std::vector<FigureSpread>& measured,
                                          const std::optional<FlopCount>& flops) {
  const Summary& summary = predicted.summary;
  std::optional<double> tokens = summary.tokens_per_s;
  if (tokens) *tokens /= static_cast<double>(gpus(summary.run));
  const std::map<std::string, std::optional<double>> values{
      {"samples_per_s", summary.samples_per_s},
      {"tokens_per_gpu_s", tokens},
      {"flops_per_gpu", summary.full_attention_flops_per_gpu}};
  std::vector<RateComparison> rows;
  for (const FigureSpread& spread : measured) {
    const auto value = values.find(spread.mean.name);
    if (value == values.end()) continue;
    Metric rate = spread.mean;
    rate.value = value->second;
    const std::optional<double> conversion =
        flops && rate.name == "flops_per_gpu" ? flops->conversion() : 1;
    if (rate.value) *rate.value *= conversion.value_or(1);
    rows.push_back({rate, spread.mean, conversion.has_value()});
  }
  return rows;
}

std::map<std::uint32_t, MeasuredMemory> measured_memory(const LoggedTraining& run) {
  std::map<std::uint32_t, MeasuredMemory> ranks;
  for (const auto& [rank, memory] : run.memory)
    ranks[rank] = {memory.allocated, memory.peak_allocated, memory.peak_reserved, {}};
  return ranks;
}

// Returns the statistics of iteration times; null if the log has none.
const FigureSpread* time_of(const std::vector<FigureSpread>& spreads) {
  const auto time = std::ranges::find_if(
      spreads, [](const FigureSpread& spread) { return spread.mean.name == "iteration_s"; });
  return time == spreads.end() ? nullptr : &*time;
}

// Returns a note if the log trains another batch than the prediction, since times then differ.
std::optional<std::string> batch_note(const trace::RunInfo& run,
                                      const std::vector<LogIteration>& lines) {
  const double batch = run.samples_per_microbatch * run.microbatches * run.replicas;
  if (batch <= 0) return std::nullopt;
  for (const LogIteration& line : lines)
    if (line.batch_samples && std::abs(*line.batch_samples / batch - 1) > 0.01)
      return fmt::format(
          "an iteration of the log trains {:g} samples, but {:g} in the prediction (iteration {}), "
          "so that times are not comparable",
          *line.batch_samples, batch, line.number);
  return std::nullopt;
}

void add_notes_on_missing_parts(LogComparison& result, bool is_timed) {
  const auto is_pass = [](const TimerComparison& timer) {
    return timer.name != "iteration" && timer.predicted;
  };
  if (!is_timed && result.iterations > 0)
    result.notes.emplace_back("the log has no iteration times");
  if (!result.timers.empty() && std::ranges::none_of(result.timers, is_pass))
    result.notes.emplace_back(
        "the log has no timers of forward and backward passes, so stages are not compared");
}

}  // namespace

LogComparison compare_log(const RunFigures& predicted, const TrainingLog& log,
                          const LogChoice& choice) {
  LogComparison result{.evidence = predicted.summary.run.evidence};
  const LoggedTraining& run = chosen_run(log, choice.run, result.notes);
  const SteadyLines steady = steady_lines(run.iterations, choice.skip);
  result.notes.insert(result.notes.end(), steady.notes.begin(), steady.notes.end());
  result.notes.insert(result.notes.end(), run.remarks.begin(), run.remarks.end());
  result.iterations = steady.lines.size();
  result.warm_up = steady.warm_up;
  result.pauses = steady.pauses;
  result.spreads = spreads_of(steady.lines);
  const FigureSpread* const measured_time = time_of(result.spreads);
  std::optional<Range> measured;
  if (measured_time != nullptr) {
    measured = Range{*measured_time->mean.value, *measured_time->mean.value};
    result.deviation_s = measured_time->deviation;
  }

  const double time = predicted.iteration_s.value_or(predicted.summary.makespan_s);
  result.timers.push_back({"iteration", Range{time, time}, measured, {}});
  const std::vector<DeviceTimes> devices = predicted_times(predicted);
  result.devices.resize(devices.size());
  const auto timers = measured_timers(steady.lines);
  for (const auto& [name, timer] : timers) {
    const std::string timer_name = megatron_name(name);
    result.timers.push_back({name,
                             range_of(devices, timer_name),
                             Range{timer.least / timer.count, timer.most / timer.count},
                             {}});
    const std::vector<double> means = device_means(timer, devices.size());
    for (std::size_t i = 0; i < means.size(); ++i) {
      const auto timed = devices[i].find(timer_name);
      if (timed == devices[i].end()) continue;
      result.devices[i].push_back(
          {name, Range{timed->second, timed->second}, Range{means[i], means[i]}, {}});
      set_error(result.devices[i].back());
    }
  }
  for (TimerComparison& timer : result.timers) set_error(timer);
  result.flops = flop_count(predicted, steady.lines, choice.flop_rules);
  result.rates = compare_rates(predicted, result.spreads, result.flops);
  const auto other_batch = batch_note(predicted.summary.run, steady.lines);
  if (result.flops && result.flops->differs())
    result.notes.push_back(flop_note(*result.flops, !other_batch));
  if (other_batch) result.notes.insert(result.notes.begin(), *other_batch);
  result.memory = compare_memory(predicted, measured_memory(run));
  add_notes_on_missing_parts(result, measured.has_value());
  return result;
}

}  // namespace pipewright::analysis
