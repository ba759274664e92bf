#include "analysis/memory_report.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include <fmt/format.h>

#include "analysis/text_table.hpp"
#include "analysis/trace/tables.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

using trace::MemoryCategory;

// "weights 12.1 GiB, activations 30.2 GiB"
std::string contents(const DeviceSummary& device) {
  const auto names = trace::enum_names(trace::ColumnType::memory_category);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (device.at_peak[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", names[i],
                          format_bytes(device.at_peak[i]));
  return text;
}

std::string named(const DeviceSummary& device) {
  return device.host.empty() ? fmt::format("device {}", device.device)
                             : fmt::format("device {} ({})", device.device, printable(device.host));
}

// What is held from the start to the end of a run.
std::uint64_t resting(const DeviceSummary& device) {
  std::uint64_t bytes = 0;
  for (const auto category :
       {MemoryCategory::weights, MemoryCategory::gradients, MemoryCategory::optimizer,
        MemoryCategory::buffers, MemoryCategory::allowance})
    bytes += device.at_peak[static_cast<std::size_t>(category)];
  return bytes;
}

// ", from 0.49 s on", ", from the start, with weights and state alone"
std::string since(const DeviceSummary& device, const ColumnScale& time) {
  if (!device.over_since_s) return "";
  if (resting(device) > device.memory_capacity_bytes)
    return ", from 0 s on, with weights and state alone";
  return fmt::format(", from {} {} on", time(*device.over_since_s), time.unit);
}

}  // namespace

std::string over_capacity_line(const Summary& run, const std::string& name) {
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
  const std::string whose =
      worst->memory_host.empty()
          ? fmt::format("its {}", format_bytes(worst->memory_capacity_bytes))
          : fmt::format("the {} of {}", format_bytes(worst->memory_capacity_bytes),
                        printable(worst->memory_host));
  std::string line = fmt::format(
      "! {} does not fit: {} peaks at {} at {} {}, {} over {}{}: {}", name, named(*worst),
      format_bytes(worst->peak_memory_bytes), time(worst->peak_time_s), time.unit,
      format_bytes(worst->over_capacity_bytes()), whose, since(*worst, time), contents(*worst));
  if (count > 1) line += fmt::format("; {} of {} devices are over", count, run.devices.size());
  return line + '\n';
}

std::string component_table(const Summary& run) {
  const auto names = trace::enum_names(trace::ColumnType::memory_category);
  std::uint64_t most = 0;
  for (const DeviceSummary& device : run.devices) most = std::max(most, device.peak_memory_bytes);
  ColumnScale bytes = memory_scale(static_cast<double>(most));
  bytes.decimals = std::max(bytes.decimals, 2);  // beside the largest, the smallest shows as well
  TextTable table;
  std::vector<std::string> numbers;
  for (const DeviceSummary& device : run.devices) numbers.push_back(std::to_string(device.device));
  table.add_names("at its peak, device", numbers);
  const auto column = [&](const std::string& name, auto&& value) {
    std::vector<std::string> cells;
    std::uint64_t all = 0;
    for (const DeviceSummary& device : run.devices) {
      all += value(device);
      cells.push_back(bytes(static_cast<double>(value(device))));
    }
    if (all > 0) table.add_numbers({name, bytes.unit}, cells);
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    column(names[i], [i](const DeviceSummary& device) { return device.at_peak[i]; });
  column("sum", [](const DeviceSummary& device) { return device.peak_memory_bytes; });
  return table.text();
}

std::string peak_line(const Summary& run) {
  const auto fullest =
      std::max_element(run.devices.begin(), run.devices.end(),
                       [](auto& a, auto& b) { return a.peak_memory_bytes < b.peak_memory_bytes; });
  return fmt::format("memory peak of {}, {}: {}\n", named(*fullest),
                     format_bytes(fullest->peak_memory_bytes), contents(*fullest));
}

}  // namespace pipewright::analysis
