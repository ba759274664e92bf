#include "analysis/report/summary_report.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

using trace::MemoryCategory;

// Lists the memory components at the device's peak: "weights 12.1 GiB, activations 30.2 GiB".
std::string contents(const DeviceSummary& device) {
  const auto names = trace::enum_names(trace::ColumnType::memory_category);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (device.at_peak[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", names[i],
                          format_bytes(device.at_peak[i]));
  return text;
}

// "device 0 (node-0-gpu-0)"
std::string device_name(const DeviceSummary& device) {
  return device.host.empty() ? fmt::format("device {}", device.device)
                             : fmt::format("device {} ({})", device.device, printable(device.host));
}

// Returns the bytes, at the time of the peak, that the device holds throughout the run: weights,
// gradients, optimizer state, buffers and the allowance.
std::uint64_t static_bytes(const DeviceSummary& device) {
  std::uint64_t bytes = 0;
  for (const auto category :
       {MemoryCategory::weights, MemoryCategory::gradients, MemoryCategory::optimizer,
        MemoryCategory::buffers, MemoryCategory::allowance})
    bytes += device.at_peak[static_cast<std::size_t>(category)];
  return bytes;
}

// Returns the time from which a device exceeds its capacity, as a phrase: ", from 0.49 s on", or ",
// from 0 s on, with weights and state alone".
std::string overflow_start_text(const DeviceSummary& device, const ColumnScale& time) {
  if (!device.over_since_s) return "";
  if (static_bytes(device) > device.memory_capacity_bytes)
    return ", from 0 s on, with weights and state alone";
  return fmt::format(", from {} {} on", time(*device.over_since_s), time.unit);
}

constexpr std::size_t max_device_rows = 16;

// Describes a run by a list of texts: three sizes first, then its settings.
constexpr std::size_t size_parts = 3;
std::vector<std::string> run_parts(const trace::RunInfo& run) {
  std::string devices = counted(run.devices, "device");
  if (run.ranks_per_stage > 1)
    devices += fmt::format(" of {}{} GPUs", run.gpus > 0 ? "up to " : "", run.ranks_per_stage);
  if (run.replicas > 1) devices = fmt::format("{} replicas x {}", run.replicas, devices);
  return {devices,
          counted(run.microbatches, "microbatch"),
          counted(run.iterations, "iteration"),
          "engine " + printable(run.engine),
          "network " + printable(run.network),
          "p2p " + printable(run.p2p)};
}

// Describes in one line what all runs have in common, and in another what their jobs have. What
// differs becomes part of the names of the runs.
struct Labels {
  std::string common;
  std::vector<std::string> names;
};

Labels labels_of(std::span<const Summary> runs) {
  std::vector<std::vector<std::string>> parts;
  Labels labels;
  for (const Summary& run : runs) {
    parts.push_back(run_parts(run.run));
    std::string name = printable(run.run.schedule);
    if (run.run.chunks > 1) name += fmt::format(" x{}", run.run.chunks);
    labels.names.push_back(std::move(name));
  }
  for (std::size_t i = 0; i < parts.front().size(); ++i) {
    const std::string& first = parts.front()[i];
    if (std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p[i] == first; })) {
      if (!labels.common.empty()) labels.common += i < size_parts ? " x " : ", ";
      labels.common += first;
    } else {
      for (std::size_t run = 0; run < parts.size(); ++run)
        labels.names[run] += ", " + parts[run][i];
    }
  }
  std::vector<std::string> jobs;
  for (const Summary& run : runs) jobs.push_back(run.run.job);
  const JobParts job = split_jobs(jobs);
  if (!job.common.empty()) labels.common += '\n' + job.common;
  for (std::size_t run = 0; run < runs.size(); ++run)
    if (!job.own[run].empty()) labels.names[run] += ", " + job.own[run];
  return labels;
}

TextTable table_of(std::span<const Summary> runs, const std::vector<std::string>& names) {
  TextTable table;
  table.add_names("schedule", names);
  add_columns(table,
              picked(run_columns(runs),
                     {"makespan_s", "samples_per_s", "tokens_per_s", "model_flops_per_gpu", "mfu",
                      "bubble_ratio", "span_bubble_s", "busy", "in_flight", "memory",
                      "exposed_communication_s", "exposed_share"}),
              runs);
  return table;
}

std::string device_table(const Summary& run) {
  ReportColumns<DeviceSummary> columns = picked(
      device_columns(run.makespan_s),
      {"device", "host", "passes", "start_s", "end_s", "busy_s", "idle", "peak_in_flight",
       "peak_memory_bytes", "peak_allocated_bytes", "of_capacity", "exposed_communication_s"});
  const auto remove_column = [&](std::string_view key) {
    std::erase_if(columns, [&](const auto& column) { return column.key == key; });
  };
  if (!std::ranges::any_of(run.devices, &DeviceSummary::memory_capacity_bytes))
    remove_column("of_capacity");
  const auto has_allowance = [](const DeviceSummary& device) {
    return device.peak_allocated_bytes() < device.peak_memory_bytes;
  };
  if (!std::ranges::any_of(run.devices, has_allowance)) remove_column("peak_allocated_bytes");
  return table_text(columns, run.devices);
}

// Table of the parts of each device's time; empty if the run has no collectives and no optimizer.
std::string time_table(const Summary& run) {
  const bool has_collectives = std::ranges::any_of(run.devices, [](const DeviceSummary& d) {
    return d.parts.optimizer + d.parts.exposed() - d.parts.p2p > 0;
  });
  return has_collectives ? '\n' + table_text(time_columns(run.makespan_s), run.devices) : "";
}

// Line that says for which replicas the simulated replica stands.
std::string symmetry_line(const Summary& run) {
  if (!run.job || !run.job->symmetric || run.run.replicas <= 1) return "";
  if (!run.job->lengths.empty())
    return fmt::format("replica 0, the one with the most work, was simulated for all {}\n",
                       run.run.replicas);
  return fmt::format("replica 0 of {} is shown; one replica of each kind was simulated\n",
                     run.run.replicas);
}

Json list_json(std::span<const Summary> runs, std::span<const JsonFields> fields) {
  Json list = json_rows(run_columns(runs), runs);
  for (std::size_t i = 0; i < std::min(list.size(), fields.size()); ++i)
    for (const JsonField& field : fields[i])
      std::visit([&](const auto& value) { list[i][field.key] = value; }, field.value);
  return list;
}

// A row of the CSV file: one device of one run.
struct DeviceOfRun {
  const Summary* run;
  const DeviceSummary* device;
};

ReportColumns<DeviceOfRun> csv_columns(std::span<const Summary> runs) {
  ReportColumns<DeviceOfRun> columns;
  const auto add = [&](const ReportColumns<DeviceOfRun>& added) {
    columns.insert(columns.end(), added.begin(), added.end());
  };
  const auto add_run = [&](std::initializer_list<std::string_view> keys) {
    add(of_part<DeviceOfRun>(picked(run_columns(runs), keys),
                             [](const DeviceOfRun& row) -> auto& { return *row.run; }));
  };
  const auto add_device = [&](std::initializer_list<std::string_view> keys) {
    add(of_part<DeviceOfRun>(picked(device_columns(0), keys),
                             [](const DeviceOfRun& row) -> auto& { return *row.device; }));
  };
  // Adds columns of the job with these keys. They are empty for a run without a job and, if
  // `needs_model`, for a job without a model.
  const auto add_job = [&](std::initializer_list<std::string_view> keys, bool needs_model) {
    for (const ReportColumn<JobInfo>& column : picked(job_columns(), keys))
      columns.emplace_back(column.key, [=](const DeviceOfRun& row) -> Json {
        const std::optional<JobInfo>& job = row.run->job;
        if (!job || (needs_model && job->model.empty())) return nullptr;
        if (column.key == "tp" && !job->tp_each.empty()) return job->tp_each.at(row.device->device);
        return column.value(*job);
      });
  };
  add_run({"schedule"});
  add_device({"device", "host", "busy_s", "start_s", "end_s", "exposed_communication_s",
              "peak_in_flight", "peak_memory_bytes", "peak_allocated_bytes",
              "memory_capacity_bytes", "passes"});
  add_run({"chunks", "engine", "p2p", "makespan_s"});
  add_job({"model", "gpu", "stack", "tp", "cp", "ep", "dp", "pp", "zero"}, false);
  add_job({"global_batch_samples", "microbatch_samples", "sequence_tokens"}, true);
  add_job({"recompute", "precision", "cuda_graphs", "offload"}, false);
  add_job({"flash_attention"}, true);
  columns.emplace_back("assumed", [](const DeviceOfRun& row) -> Json {
    return trace::joined_keys(row.run->run.evidence);
  });
  std::ranges::find(columns, "peak_in_flight", &ReportColumn<DeviceOfRun>::key)->key +=
      "_microbatches";
  return columns;
}

}  // namespace

std::string over_capacity_text(const Summary& run, const std::string& name) {
  const DeviceSummary* worst = nullptr;
  int count = 0;
  for (const DeviceSummary& device : run.devices) {
    if (device.fits()) continue;
    ++count;
    if (worst == nullptr || device.over_capacity_bytes() > worst->over_capacity_bytes())
      worst = &device;
  }
  if (worst == nullptr) return "";
  const ColumnScale time = time_scale(run.makespan_s, 4);
  const std::string capacity = format_bytes(worst->memory_capacity_bytes);
  const std::string owned_capacity =
      worst->memory_host.empty()
          ? fmt::format("its {}", capacity)
          : fmt::format("the {} of {}", capacity, printable(worst->memory_host));
  std::string text =
      fmt::format("{} does not fit: {} peaks at {} at {} {}, {} over {}{}: {}", name,
                  device_name(*worst), format_bytes(worst->peak_memory_bytes),
                  time(worst->peak_time_s), time.unit, format_bytes(worst->over_capacity_bytes()),
                  owned_capacity, overflow_start_text(*worst, time), contents(*worst));
  if (count > 1) text += fmt::format("; {} of {} devices are over", count, run.devices.size());
  return text;
}

std::string uneven_text(const Summary& run, std::string_view name) {
  if (!run.job || (run.job->lengths.empty() && run.job->routing.empty())) return "";
  std::string text = name.empty() ? "" : fmt::format("{}: ", name);
  const double tokens = run.run.tokens_per_microbatch * run.run.microbatches * run.run.replicas;
  if (!run.job->lengths.empty())
    text += fmt::format(
        "{:.4g} million tokens an iteration, {:.1f} % of the computed tokens are padding; ",
        tokens / 1e6, 100 * run.job->padding);
  constexpr double negligible = 0.0005;
  if (run.job->uneven < negligible)
    return text + "spreading the work evenly over microbatches and ranks would save no time";
  return text + fmt::format(
                    "the same work would take {:.1f} % less time if it were spread evenly over "
                    "microbatches and ranks",
                    100 * run.job->uneven);
}

std::string component_table(const Summary& run) {
  using Device = DeviceSummary;
  std::uint64_t largest = 0;
  for (const Device& device : run.devices) largest = std::max(largest, device.peak_memory_bytes);
  ColumnScale bytes = memory_scale(static_cast<double>(largest));
  bytes.decimals = std::max(bytes.decimals, 2);  // so that small components show as well
  ReportColumns<Device> columns{
      {"device", {"at its peak, device"}, Quantity::name(), &Device::device}};
  const auto names = trace::enum_names(trace::ColumnType::memory_category);
  for (std::size_t i = 0; i < names.size(); ++i)
    columns.push_back(
        optional<Device>({names[i], {names[i]}, Quantity::on(bytes), [i](const Device& device) {
                            return device.at_peak[i];
                          }}));
  columns.push_back(
      optional<Device>({"sum", {"sum"}, Quantity::on(bytes), &Device::peak_memory_bytes}));
  return table_text(columns, run.devices);
}

std::string peak_line(const Summary& run) {
  const auto fullest =
      std::max_element(run.devices.begin(), run.devices.end(),
                       [](auto& a, auto& b) { return a.peak_memory_bytes < b.peak_memory_bytes; });
  return fmt::format("memory peak of {}, {}, of which {} allocated: {}\n", device_name(*fullest),
                     format_bytes(fullest->peak_memory_bytes),
                     format_bytes(fullest->peak_allocated_bytes()), contents(*fullest));
}

std::vector<std::string> names_of(std::span<const Summary> runs) {
  return runs.empty() ? std::vector<std::string>() : labels_of(runs).names;
}

TextTable summary_table(std::span<const Summary> runs) { return table_of(runs, names_of(runs)); }

std::string common_line(std::span<const Summary> runs) {
  return runs.empty() ? std::string() : labels_of(runs).common;
}

std::string console_table(std::span<const Summary> runs) {
  if (runs.empty()) return "";
  const Labels labels = labels_of(runs);
  std::string text = labels.common + '\n' + symmetry_line(runs[0]) + '\n';
  text += table_of(runs, labels.names).text();
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (const std::string uneven =
            uneven_text(runs[i], runs.size() > 1 ? labels.names[i] : std::string());
        !uneven.empty())
      text += uneven + '\n';
  text += evidence_lines(evidence_of(runs));
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!fits(runs[i])) text += fmt::format("! {}\n", over_capacity_text(runs[i], labels.names[i]));
  if (runs.size() > 1 || runs[0].devices.empty()) return text;
  if (runs[0].devices.size() > 1 && runs[0].devices.size() <= max_device_rows)
    text += (runs[0].run.replicas > 1 ? "\nreplica 0:\n" : "\n") + device_table(runs[0]);
  if (runs[0].devices.size() <= max_device_rows) text += time_table(runs[0]);
  if (!runs[0].pass_collectives.empty())
    text += '\n' + table_text(pass_collective_columns(), runs[0].pass_collectives);
  if (runs[0].run.model_flops <= 0) return text;
  if (runs[0].devices.size() > 1 && runs[0].devices.size() <= max_device_rows)
    text += '\n' + component_table(runs[0]);
  text += '\n' + peak_line(runs[0]);
  return text;
}

std::string json_summary(std::span<const Summary> runs, std::span<const JsonFields> fields) {
  const Json json = list_json(runs, fields);
  return json_document(runs.size() == 1 ? json[0] : json);
}

Json json_of(const Summary& run) { return list_json({&run, 1}, {})[0]; }

void add_from_json(const Json& json, Summary& run) {
  run.job = job_of(json.at("job"));
  const Json& devices = json.at("devices");
  for (std::size_t i = 0; i < std::min(run.devices.size(), devices.size()); ++i)
    run.devices[i].memory_host = devices[i].value("memory_host", "");
}

std::string json_list(std::span<const Summary> runs, std::span<const JsonFields> fields) {
  return json_document(list_json(runs, fields));
}

std::string csv_summary(std::span<const Summary> runs) {
  std::vector<DeviceOfRun> rows;
  for (const Summary& run : runs)
    for (const DeviceSummary& device : run.devices) rows.push_back({&run, &device});
  return csv_text(csv_columns(runs), rows);
}

}  // namespace pipewright::analysis
