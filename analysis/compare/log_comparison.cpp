#include "analysis/compare/log_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "analysis/assumed.hpp"
#include "analysis/compare/metric.hpp"
#include "analysis/statistics.hpp"
#include "analysis/text_table.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/units_text.hpp"

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

constexpr const char* unknown = "-";

std::string text_of(const std::optional<Range>& range) {
  if (!range) return unknown;
  const std::string least = format_seconds(range->least);
  const std::string most = format_seconds(range->most);
  // "max time across ranks" has no least.
  return least == most || range->least == 0 ? most : least + ".." + most;
}

// A timer of the whole run, or of one device of it.
struct TimerRow {
  const TimerComparison* timer;
  std::optional<std::size_t> device;
};

std::vector<TimerRow> rows_of(const std::vector<TimerComparison>& timers,
                              std::optional<std::size_t> device = {}) {
  std::vector<TimerRow> rows;
  for (const TimerComparison& timer : timers) rows.push_back({&timer, device});
  return rows;
}

std::vector<TimerRow> device_rows(const LogComparison& comparison) {
  std::vector<TimerRow> rows;
  for (std::size_t device = 0; device < comparison.devices.size(); ++device)
    for (const TimerRow& row : rows_of(comparison.devices[device], device)) rows.push_back(row);
  return rows;
}

ReportColumns<TimerRow> timer_columns(const char* heading, bool is_assumed = false) {
  using Side = std::optional<Range> TimerComparison::*;
  const auto text_of_side = [](Side side) {
    return [side](const TimerRow& row) { return text_of(row.timer->*side); };
  };
  const auto json_of_side = [](Side side) {
    return [side](const TimerRow& row) -> Json {
      const std::optional<Range>& range = row.timer->*side;
      if (!range) return nullptr;
      return {{"least_s", range->least}, {"most_s", range->most}};
    };
  };
  return {
      table_only<TimerRow>({"name",
                            {heading},
                            Quantity::name(),
                            [](const TimerRow& row) {
                              return row.device
                                         ? fmt::format("{}  {}", *row.device, row.timer->name)
                                         : row.timer->name;
                            }}),
      {"timer", [](const TimerRow& row) { return row.timer->name; }},
      marked(table_only<TimerRow>({"predicted_text",
                                   {"predicted"},
                                   Quantity::count(),
                                   text_of_side(&TimerComparison::predicted)}),
             [=](const TimerRow& row) { return is_assumed && row.timer->predicted; }),
      table_only<TimerRow>({"measured_text",
                            {"measured"},
                            Quantity::count(),
                            text_of_side(&TimerComparison::measured)}),
      {"predicted", json_of_side(&TimerComparison::predicted)},
      {"measured", json_of_side(&TimerComparison::measured)},
      {"error",
       {"error"},
       Quantity::each_as([](double error) { return format_change(1, 1 + error); }),
       [](const TimerRow& row) { return row.timer->error; }},
      {"device", [](const TimerRow& row) { return row.device ? Json(*row.device) : no_field(); }}};
}

}  // namespace

LogComparison compare_log(const RunFigures& predicted, const MegatronLog& log, std::size_t skip) {
  if (skip >= log.iterations.size())
    throw trace::TraceError(
        fmt::format("the log has {} iterations, and {} are skipped", log.iterations.size(), skip));
  const auto iterations = std::span(log.iterations).subspan(skip);
  LogComparison result{.iterations = iterations.size(), .assumed = predicted.summary.run.assumed};
  const auto count = static_cast<double>(iterations.size());
  double mean = 0;
  std::vector<double> times;
  for (const MegatronIteration& one : iterations) {
    mean += one.elapsed_s / count;
    times.push_back(one.elapsed_s);
  }
  result.deviation_s = standard_deviation(times, mean);

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

std::string console_text(const LogComparison& comparison) {
  std::string text =
      fmt::format("predicted  {}\nmeasured   {}, {} iterations, standard deviation {}\n\n",
                  printable(comparison.predicted_name), printable(comparison.measured_name),
                  comparison.iterations, format_seconds(comparison.deviation_s));
  const bool is_assumed = times_rest_on(comparison.assumed);
  text += table_text(timer_columns("timer", is_assumed), rows_of(comparison.timers));
  const std::vector<TimerRow> devices = device_rows(comparison);
  if (!devices.empty())
    text += "\nmeans of the ranks of each device, if the pipeline is the outermost dimension:\n" +
            table_text(timer_columns("device", is_assumed), devices);
  text += assumed_lines({comparison.assumed});
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const LogComparison& comparison) {
  Json json;
  json["predicted"] = comparison.predicted_name;
  json["measured"] = comparison.measured_name;
  json["iterations"] = comparison.iterations;
  json["deviation_s"] = comparison.deviation_s;
  add_assumed(json, comparison.assumed);
  json["timers"] = json_rows(timer_columns("timer"), rows_of(comparison.timers));
  json["devices"] = json_rows(timer_columns("device"), device_rows(comparison));
  json["conditions"] = judgements_json(comparison.judgements);
  return json_document(json);
}

}  // namespace pipewright::analysis
