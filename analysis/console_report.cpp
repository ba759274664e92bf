#include "analysis/console_report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "analysis/column_scale.hpp"
#include "analysis/memory_report.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t largest_device_table = 16;
constexpr const char* unknown = "-";

template <class Things, class Value>
double largest(const Things& things, Value&& value) {
  double most = 0;
  for (const auto& thing : things) most = std::max(most, value(thing));
  return most;
}

template <class Things, class Cell>
std::vector<std::string> cells(const Things& things, Cell&& cell) {
  std::vector<std::string> texts;
  texts.reserve(things.size());
  for (const auto& thing : things) texts.push_back(cell(thing));
  return texts;
}

template <class Value>
Range range(const Summary& run, Value&& value) {
  if (run.devices.empty()) return {};
  Range found{value(run.devices.front()), value(run.devices.front())};
  for (const DeviceSummary& device : run.devices) {
    found.least = std::min(found.least, value(device));
    found.most = std::max(found.most, value(device));
  }
  return found;
}

double busy(const DeviceSummary& device) { return device.busy_s; }
double in_flight(const DeviceSummary& device) { return device.peak_in_flight; }
double memory(const DeviceSummary& device) { return static_cast<double>(device.peak_memory_bytes); }
double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }
std::string percent(double value) { return ColumnScale{1, 1, "%"}(value); }
std::string microbatches(Range count) {  // a chunk is a fraction of one
  int decimals = 0;
  for (double power = 1; decimals < 2; ++decimals, power *= 10)
    if (count.least * power == std::floor(count.least * power) &&
        count.most * power == std::floor(count.most * power))
      break;
  return ColumnScale{1, decimals, ""}(count);
}

std::string counted(std::uint32_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// What a run was, in parts: three sizes, then words.
constexpr std::size_t sizes = 3;
std::vector<std::string> description(const trace::RunInfo& run) {
  std::string devices = counted(run.devices, "device", "devices");
  if (run.lanes > 1) devices += fmt::format(" of {} GPUs", run.lanes);
  if (run.replicas > 1) devices = fmt::format("{} replicas x {}", run.replicas, devices);
  return {devices,
          counted(run.microbatches, "microbatch", "microbatches"),
          counted(run.iterations, "iteration", "iterations"),
          "engine " + printable(run.engine),
          "network " + printable(run.network),
          "p2p " + printable(run.p2p)};
}

// What runs have in common goes into one line, what differs into each run's name.
struct Labels {
  std::string common;
  std::vector<std::string> names;
};

Labels labels(std::span<const Summary> runs) {
  std::vector<std::vector<std::string>> parts;
  Labels found;
  for (const Summary& run : runs) {
    parts.push_back(description(run.run));
    std::string name = printable(run.run.schedule);
    if (run.run.chunks > 1) name += fmt::format(" x{}", run.run.chunks);
    found.names.push_back(std::move(name));
  }
  for (std::size_t i = 0; i < parts.front().size(); ++i) {
    const std::string& first = parts.front()[i];
    if (std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p[i] == first; })) {
      if (!found.common.empty()) found.common += i < sizes ? " x " : ", ";
      found.common += first;
    } else {
      for (std::size_t run = 0; run < parts.size(); ++run) found.names[run] += ", " + parts[run][i];
    }
  }
  return found;
}

void add_rates(TextTable& table, std::span<const Summary> runs, const char* what,
               std::optional<double> Summary::*rate) {
  const double most = largest(runs, [&](const Summary& run) { return (run.*rate).value_or(0); });
  if (most == 0) return;
  const ColumnScale scale = rate_scale(most);
  table.add_numbers({what, scale.unit}, cells(runs, [&](const Summary& run) {
                      return run.*rate ? scale(*(run.*rate)) : unknown;
                    }));
}

void add_flops(TextTable& table, std::span<const Summary> runs) {
  const auto column = [&](std::vector<std::string> title, std::optional<double> Summary::*value,
                          const ColumnScale& scale) {
    if (std::none_of(runs.begin(), runs.end(), [&](auto& run) { return run.*value; })) return;
    table.add_numbers(std::move(title), cells(runs, [&](const Summary& run) {
                        return run.*value ? scale(*(run.*value)) : unknown;
                      }));
  };
  column({"TFLOP/s", "a GPU", ""}, &Summary::model_flops_per_gpu, {1e12, 1, ""});
  column({"MFU", "%"}, &Summary::mfu, {0.01, 1, "%"});
}

// Runs over the capacity of a device are marked.
void add_memory(TextTable& table, std::span<const Summary> runs) {
  const ColumnScale scale =
      memory_scale(largest(runs, [](const Summary& run) { return range(run, memory).most; }));
  const bool any_over = !std::all_of(runs.begin(), runs.end(), fits);
  table.add_numbers({"memory", "peak", scale.unit}, cells(runs, [&](const Summary& run) {
                      const Range peak = range(run, memory);
                      std::string text = peak.most > 0 ? scale(peak) : unknown;
                      if (any_over) text += fits(run) ? ' ' : '!';
                      return text;
                    }));
}

std::string run_table(std::span<const Summary> runs, const std::vector<std::string>& names) {
  const auto times = [&](auto&& value, int digits) {
    return time_scale(largest(runs, value), digits);
  };
  const auto makespan = [](const Summary& run) { return run.makespan_s; };
  const auto span_bubble = [](const Summary& run) { return run.span_bubble_s; };
  const auto most_busy = [](const Summary& run) { return range(run, busy).most; };
  const ColumnScale time = times(makespan, 4);
  const ColumnScale span = times(span_bubble, 3);
  const ColumnScale busy_time = times(most_busy, 3);
  const ColumnScale exposed = times(exposed_communication, 3);

  TextTable table;
  table.add_names("schedule", names);
  table.add_numbers({"time", time.unit},
                    cells(runs, [&](auto& run) { return time(makespan(run)); }));
  add_rates(table, runs, "samples", &Summary::samples_per_s);
  add_rates(table, runs, "tokens", &Summary::tokens_per_s);
  add_flops(table, runs);
  table.add_numbers({"bubble", "ratio", "%"},
                    cells(runs, [](auto& run) { return percent(100 * run.bubble_ratio); }));
  table.add_numbers({"span", "bubble", span.unit},
                    cells(runs, [&](auto& run) { return span(span_bubble(run)); }));
  table.add_numbers({"busy", busy_time.unit},
                    cells(runs, [&](auto& run) { return busy_time(range(run, busy)); }));
  table.add_numbers({"in", "flight", ""},
                    cells(runs, [](auto& run) { return microbatches(range(run, in_flight)); }));
  add_memory(table, runs);
  table.add_numbers({"exposed", "comm", exposed.unit},
                    cells(runs, [&](auto& run) { return exposed(exposed_communication(run)); }));
  table.add_numbers({"of", "time", "%"}, cells(runs, [](auto& run) {
                      return percent(share(exposed_communication(run), run.makespan_s));
                    }));
  return table.text();
}

std::string device_table(const Summary& run) {
  const auto& devices = run.devices;
  const ColumnScale time = time_scale(run.makespan_s, 4);
  const ColumnScale bytes = memory_scale(largest(devices, memory));
  const ColumnScale exposed = time_scale(exposed_communication(run), 3);
  const bool capacities =
      largest(devices, [](auto& d) { return static_cast<double>(d.memory_capacity_bytes); }) > 0;

  TextTable table;
  table.add_names("device", cells(devices, [](auto& d) { return std::to_string(d.device); }));
  if (std::any_of(devices.begin(), devices.end(), [](auto& d) { return !d.host.empty(); }))
    table.add_names("host", cells(devices, [](auto& d) { return printable(d.host); }));
  table.add_numbers({"passes"}, cells(devices, [](auto& d) { return std::to_string(d.passes); }));
  table.add_numbers({"start", time.unit}, cells(devices, [&](auto& d) { return time(d.start_s); }));
  table.add_numbers({"end", time.unit}, cells(devices, [&](auto& d) { return time(d.end_s); }));
  table.add_numbers({"busy", time.unit}, cells(devices, [&](auto& d) { return time(d.busy_s); }));
  table.add_numbers({"idle", "%"}, cells(devices, [&](auto& d) {
                      return percent(share(run.makespan_s - d.busy_s, run.makespan_s));
                    }));
  table.add_numbers({"in", "flight", ""}, cells(devices, [](auto& d) {
                      return microbatches({d.peak_in_flight, d.peak_in_flight});
                    }));
  table.add_numbers({"memory", "peak", bytes.unit}, cells(devices, [&](auto& d) {
                      return d.peak_memory_bytes > 0 ? bytes(memory(d)) : unknown;
                    }));
  if (capacities)
    table.add_numbers(
        {"of", "capacity", "%"}, cells(devices, [](auto& d) -> std::string {
          if (d.memory_capacity_bytes == 0 || d.peak_memory_bytes == 0) return unknown;
          return percent(share(memory(d), static_cast<double>(d.memory_capacity_bytes)));
        }));
  table.add_numbers({"exposed", "comm", exposed.unit},
                    cells(devices, [&](auto& d) { return exposed(d.exposed.total_s()); }));
  return table.text();
}

// Where the time of each device goes, of a run with more in it than passes and transfers.
std::string time_table(const Summary& run) {
  const auto& devices = run.devices;
  const auto extra = [](const DeviceSummary& d) {
    return d.step_s + d.exposed.total_s() - d.exposed.p2p_s;
  };
  if (largest(devices, extra) <= 0) return "";
  const ColumnScale time = time_scale(run.makespan_s, 4);
  TextTable table;
  table.add_names("device", cells(devices, [](auto& d) { return std::to_string(d.device); }));
  const auto column = [&](std::vector<std::string> title, auto&& value) {
    title.push_back(time.unit);
    table.add_numbers(title, cells(devices, [&](auto& d) { return time(value(d)); }));
  };
  column({"", "compute"}, [](auto& d) { return d.busy_s - d.exposed.in_passes_s; });
  column({"tp, cp, ep", "collectives"}, [](auto& d) { return d.exposed.in_passes_s; });
  column({"point", "to point"}, [](auto& d) { return d.exposed.p2p_s; });
  column({"gradient", "reduction"}, [](auto& d) { return d.exposed.gradients_s; });
  column({"weight", "gather"}, [](auto& d) { return d.exposed.weights_s; });
  column({"optimizer", "step"}, [](auto& d) { return d.step_s; });
  column({"other", "idle"}, [&](auto& d) {
    return std::max(0.0, run.makespan_s - d.busy_s - d.step_s - d.exposed.p2p_s -
                             d.exposed.gradients_s - d.exposed.weights_s);
  });
  return '\n' + table.text();
}

// Lines on what was run; all runs of a table are of one job.
std::string job_lines(const Summary& run) {
  if (!run.job) return "";
  const std::string job = describe(*run.job);
  return (job.empty() ? "" : job + '\n') +
         (run.job->symmetric && run.run.replicas > 1
              ? fmt::format("replica 0 was simulated for all {}: they were checked to be alike\n",
                            run.run.replicas)
              : "");
}

}  // namespace

std::string in_flight_text(const Summary& run) { return microbatches(range(run, in_flight)); }

std::string console_table(std::span<const Summary> runs) {
  if (runs.empty()) return "";
  const Labels label = labels(runs);
  std::string text = label.common + '\n' + job_lines(runs[0]) + '\n' + run_table(runs, label.names);
  for (std::size_t i = 0; i < runs.size(); ++i) text += over_capacity_line(runs[i], label.names[i]);
  if (runs.size() > 1 || runs[0].devices.empty()) return text;
  if (runs[0].devices.size() > 1 && runs[0].devices.size() <= largest_device_table)
    text += (runs[0].run.replicas > 1 ? "\nof replica 0:\n" : "\n") + device_table(runs[0]);
  if (runs[0].devices.size() <= largest_device_table) text += time_table(runs[0]);
  if (runs[0].run.model_flops <= 0) return text;
  if (runs[0].devices.size() > 1 && runs[0].devices.size() <= largest_device_table)
    text += '\n' + component_table(runs[0]);
  text += '\n' + peak_line(runs[0]);
  return text;
}

}  // namespace pipewright::analysis
