#include "analysis/measured/compare/memory_comparison.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

using trace::MemoryCategory;

constexpr const char* peak_part = "peak allocated";

constexpr std::array state_categories{MemoryCategory::weights, MemoryCategory::gradients,
                                      MemoryCategory::optimizer};

double at_peak(const DeviceSummary& device, MemoryCategory category) {
  return static_cast<double>(device.at_peak.at(static_cast<std::size_t>(category)));
}

// Returns the predicted bytes that stay allocated between iterations: weights, gradients,
// optimizer.
double state_bytes(const DeviceSummary& device) {
  double sum = 0;
  for (const MemoryCategory state : state_categories) sum += at_peak(device, state);
  return sum;
}

// One quantity of a device's memory, with functions that return its predicted and its measured
// bytes, or nothing if they are unknown.
struct MemoryPart {
  std::string name;
  std::function<std::optional<double>(const DeviceSummary&)> predicted;
  std::function<std::optional<double>(const MeasuredMemory&)> measured;
};

std::vector<MemoryPart> memory_parts() {
  using Measured = const MeasuredMemory&;
  using Device = const DeviceSummary&;
  std::vector<MemoryPart> list{
      {"held between iterations", state_bytes, [](Measured rank) { return rank.between; }},
      {"more at the peak",
       [](Device device) {
         return static_cast<double>(device.peak_allocated_bytes()) - state_bytes(device);
       },
       [](Measured rank) -> std::optional<double> {
         if (!rank.between || !rank.peak_allocated) return std::nullopt;
         return *rank.peak_allocated - *rank.between;
       }},
      {peak_part, [](Device device) { return static_cast<double>(device.peak_allocated_bytes()); },
       [](Measured rank) { return rank.peak_allocated; }},
      {"peak reserved", [](Device) { return std::nullopt; },
       [](Measured rank) { return rank.peak_reserved; }}};
  for (int i = 0; i < trace::memory_categories; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    if (category == MemoryCategory::allowance) continue;
    list.push_back({trace::name_of(category),
                    [category](Device device) { return at_peak(device, category); },
                    [category](Measured rank) -> std::optional<double> {
                      const auto it = rank.at_peak.find(category);
                      if (it == rank.at_peak.end()) return std::nullopt;
                      return it->second;
                    }});
  }
  return list;
}

// Returns the largest known value over ranks or devices; empty if none is known.
template <class Items>
std::optional<double> maximum(const Items& items, const auto& value_of) {
  std::optional<double> largest;
  for (const auto& item : items)
    if (const std::optional<double> value = value_of(item))
      largest = std::max(largest.value_or(*value), *value);
  return largest;
}

std::optional<double> largest_peak(const std::vector<MemoryError>& rows,
                                   std::optional<double> MemoryError::*side) {
  return maximum(rows, [&](const MemoryError& row) {
    return row.part == peak_part ? row.*side : std::optional<double>();
  });
}

std::optional<double> memory_error(const MemoryError& row) {
  if (!row.predicted || !row.measured || *row.measured <= 0) return std::nullopt;
  return *row.predicted / *row.measured - 1;
}

Json bytes_text(const std::optional<double>& bytes) {
  return bytes ? Json(format_value(MetricKind::bytes, *bytes)) : Json();
}

}  // namespace

std::optional<double> MemoryError::error() const { return memory_error(*this); }

std::vector<MemoryError> compare_memory(const RunFigures& predicted,
                                        const std::map<std::uint32_t, MeasuredMemory>& ranks) {
  const std::vector<DeviceSummary>& devices = predicted.summary.devices;
  std::vector<MeasuredMemory> measured;
  for (const auto& [rank, memory] : ranks) measured.push_back(memory);
  const bool is_by_device = !devices.empty() && measured.size() % devices.size() == 0;
  const std::size_t groups = is_by_device ? devices.size() : 1;
  std::vector<MemoryError> rows;
  if (measured.empty()) return rows;
  const std::vector<MemoryPart> parts = memory_parts();
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t share = measured.size() / groups;
    const auto from = measured.begin() + static_cast<std::ptrdiff_t>(group * share);
    const std::vector<MeasuredMemory> group_ranks(from, from + static_cast<std::ptrdiff_t>(share));
    const std::vector<DeviceSummary> group_devices =
        is_by_device ? std::vector<DeviceSummary>{devices[group]} : devices;
    const bool is_simulated = std::ranges::any_of(
        group_devices, [](const DeviceSummary& device) { return device.peak_memory_bytes > 0; });
    for (const MemoryPart& part : parts) {
      const auto bytes = maximum(group_ranks, part.measured);
      if (!bytes) continue;
      rows.push_back(
          {is_by_device ? std::optional(static_cast<std::uint32_t>(group)) : std::nullopt,
           part.name, is_simulated ? maximum(group_devices, part.predicted) : std::nullopt, bytes});
    }
  }
  return rows;
}

std::optional<double> predicted_peak(const std::vector<MemoryError>& rows) {
  return largest_peak(rows, &MemoryError::predicted);
}

std::optional<double> measured_peak(const std::vector<MemoryError>& rows) {
  return largest_peak(rows, &MemoryError::measured);
}

ReportColumns<MemoryError> memory_columns() {
  return {
      {"device",
       {"device"},
       Quantity::name(),
       [](const MemoryError& row) { return row.device ? Json(*row.device) : Json("most"); }},
      {"part", {"memory"}, Quantity::name(), &MemoryError::part},
      table_only<MemoryError>({"",
                               {"predicted"},
                               Quantity::count(),
                               [](const MemoryError& row) { return bytes_text(row.predicted); }}),
      table_only<MemoryError>({"",
                               {"measured"},
                               Quantity::count(),
                               [](const MemoryError& row) { return bytes_text(row.measured); }}),
      {"predicted_bytes",
       [](const MemoryError& row) { return row.predicted ? Json(*row.predicted) : Json(); }},
      {"measured_bytes",
       [](const MemoryError& row) { return row.measured ? Json(*row.measured) : Json(); }},
      {"error",
       {"error"},
       Quantity::each_as([](double error) { return format_change(1, 1 + error); }),
       memory_error}};
}

}  // namespace pipewright::analysis
