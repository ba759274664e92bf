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

// Predicted memory of a device.
struct PredictedMemory {
  const DeviceSummary* device;
  const CategoryBytes* most;  // largest bytes of each category

  double most_of(MemoryCategory category) const {
    return static_cast<double>(most->at(static_cast<std::size_t>(category)));
  }
  double peak() const { return static_cast<double>(device->peak_allocated_bytes()); }
};

// Returns the predicted bytes that stay allocated between iterations: weights, gradients and
// optimizer, without the categories in `others`.
double state_bytes(const PredictedMemory& device, const std::set<MemoryCategory>& others = {}) {
  double sum = 0;
  for (const MemoryCategory state : state_categories)
    if (!others.contains(state)) sum += device.most_of(state);
  return sum;
}

// One quantity of a device's memory, with functions that return its measured and its predicted
// bytes, or nothing if they are unknown. The prediction may depend on what was measured.
struct MemoryPart {
  std::string name;
  std::function<std::optional<double>(const MeasuredMemory&)> measured;
  std::function<std::optional<double>(const PredictedMemory&, const MeasuredMemory&)> predicted;
};

std::vector<MemoryPart> memory_parts() {
  using Measured = const MeasuredMemory&;
  using Device = const PredictedMemory&;
  const auto unknown = [](Device, Measured) { return std::nullopt; };
  std::vector<MemoryPart> list{
      {"held between iterations", [](Measured rank) { return rank.between; },
       [](Device device, Measured) { return state_bytes(device); }},
      {"held when recording began", [](Measured rank) { return rank.begin; }, unknown},
      {"more at the peak",
       [](Measured rank) -> std::optional<double> {
         if (!rank.between || !rank.peak_allocated) return std::nullopt;
         return *rank.peak_allocated - *rank.between;
       },
       [](Device device, Measured) { return device.peak() - state_bytes(device); }},
      {peak_part, [](Measured rank) { return rank.peak_allocated; },
       [](Device device, Measured) { return device.peak(); }},
      {"peak reserved", [](Measured rank) { return rank.peak_reserved; }, unknown},
      {"from before the recording", [](Measured rank) { return rank.from_before; },
       [](Device device, Measured rank) { return state_bytes(device, rank.recorded); }}};
  for (int i = 0; i < trace::memory_categories; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    if (category == MemoryCategory::allowance) continue;
    list.push_back({trace::name_of(category),
                    [category](Measured rank) -> std::optional<double> {
                      const auto it = rank.most.find(category);
                      if (it == rank.most.end()) return std::nullopt;
                      return it->second;
                    },
                    [category](Device device, Measured) { return device.most_of(category); }});
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
  std::vector<PredictedMemory> devices;
  for (std::size_t i = 0; i < predicted.summary.devices.size(); ++i)
    devices.push_back({&predicted.summary.devices[i], &predicted.memory_most.at(i)});
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
    const std::vector<PredictedMemory> group_devices =
        is_by_device ? std::vector<PredictedMemory>{devices[group]} : devices;
    const bool is_simulated = std::ranges::any_of(group_devices, [](const PredictedMemory& device) {
      return device.device->peak_memory_bytes > 0;
    });
    for (const MemoryPart& part : parts) {
      const auto bytes = maximum(group_ranks, part.measured);
      if (!bytes) continue;
      const auto prediction = [&](const PredictedMemory& device) {
        return part.predicted(device, group_ranks.front());
      };
      rows.push_back(
          {is_by_device ? std::optional(static_cast<std::uint32_t>(group)) : std::nullopt,
           part.name, is_simulated ? maximum(group_devices, prediction) : std::nullopt, bytes});
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
