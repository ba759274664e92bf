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

constexpr std::array states{MemoryCategory::weights, MemoryCategory::gradients,
                            MemoryCategory::optimizer};

double at_peak(const DeviceSummary& device, MemoryCategory category) {
  return static_cast<double>(device.at_peak.at(static_cast<std::size_t>(category)));
}

double between(const DeviceSummary& device) {
  double sum = 0;
  for (const MemoryCategory state : states) sum += at_peak(device, state);
  return sum;
}

// One part and what either side says of it; nothing of a side that does not know it.
struct Part {
  std::string name;
  std::function<std::optional<double>(const DeviceSummary&)> predicted;
  std::function<std::optional<double>(const MeasuredMemory&)> measured;
};

std::vector<Part> parts() {
  using Measured = const MeasuredMemory&;
  using Device = const DeviceSummary&;
  std::vector<Part> list{
      {"held between iterations", between, [](Measured one) { return one.between; }},
      {"more at the peak",
       [](Device device) {
         return static_cast<double>(device.peak_allocated_bytes()) - between(device);
       },
       [](Measured one) -> std::optional<double> {
         if (!one.between || !one.peak_allocated) return std::nullopt;
         return *one.peak_allocated - *one.between;
       }},
      {peak_part, [](Device device) { return static_cast<double>(device.peak_allocated_bytes()); },
       [](Measured one) { return one.peak_allocated; }},
      {"peak reserved", [](Device) { return std::nullopt; },
       [](Measured one) { return one.peak_reserved; }}};
  for (int i = 0; i < trace::memory_categories; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    if (category == MemoryCategory::allowance) continue;
    list.push_back({trace::name_of(category),
                    [category](Device device) { return at_peak(device, category); },
                    [category](Measured one) -> std::optional<double> {
                      const auto found = one.at_peak.find(category);
                      if (found == one.at_peak.end()) return std::nullopt;
                      return found->second;
                    }});
  }
  return list;
}

// Of several ranks, the most.
template <class Each>
std::optional<double> most(const Each& each, const auto& value_of) {
  std::optional<double> found;
  for (const auto& one : each)
    if (const std::optional<double> value = value_of(one))
      found = std::max(found.value_or(*value), *value);
  return found;
}

std::optional<double> most_of(const std::vector<MemoryError>& rows,
                              std::optional<double> MemoryError::*side) {
  return most(rows, [&](const MemoryError& row) {
    return row.part == peak_part ? row.*side : std::optional<double>();
  });
}

std::optional<double> change(const MemoryError& row) {
  if (!row.predicted || !row.measured || *row.measured <= 0) return std::nullopt;
  return *row.predicted / *row.measured - 1;
}

Json text_of(const std::optional<double>& bytes) {
  return bytes ? Json(format_value(MetricKind::bytes, *bytes)) : Json();
}

}  // namespace

std::optional<double> MemoryError::error() const { return change(*this); }

std::vector<MemoryError> compare_memory(const RunFigures& predicted,
                                        const std::map<std::uint32_t, MeasuredMemory>& ranks) {
  const std::vector<DeviceSummary>& devices = predicted.summary.devices;
  std::vector<MeasuredMemory> measured;
  for (const auto& [rank, memory] : ranks) measured.push_back(memory);
  const bool each = !devices.empty() && measured.size() % devices.size() == 0;
  const std::size_t groups = each ? devices.size() : 1;
  std::vector<MemoryError> rows;
  if (measured.empty()) return rows;
  const std::vector<Part> list = parts();
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t share = measured.size() / groups;
    const auto from = measured.begin() + static_cast<std::ptrdiff_t>(group * share);
    const std::vector<MeasuredMemory> own(from, from + static_cast<std::ptrdiff_t>(share));
    const std::vector<DeviceSummary> theirs =
        each ? std::vector<DeviceSummary>{devices[group]} : devices;
    const bool simulated = std::ranges::any_of(
        theirs, [](const DeviceSummary& device) { return device.peak_memory_bytes > 0; });
    for (const Part& part : list) {
      const auto known = most(own, part.measured);
      if (!known) continue;
      rows.push_back({each ? std::optional(static_cast<std::uint32_t>(group)) : std::nullopt,
                      part.name, simulated ? most(theirs, part.predicted) : std::nullopt, known});
    }
  }
  return rows;
}

std::optional<double> predicted_peak(const std::vector<MemoryError>& rows) {
  return most_of(rows, &MemoryError::predicted);
}

std::optional<double> measured_peak(const std::vector<MemoryError>& rows) {
  return most_of(rows, &MemoryError::measured);
}

ReportColumns<MemoryError> memory_columns() {
  return {{"device",
           {"device"},
           Quantity::name(),
           [](const MemoryError& row) { return row.device ? Json(*row.device) : Json("most"); }},
          {"part", {"memory"}, Quantity::name(), &MemoryError::part},
          table_only<MemoryError>({"",
                                   {"predicted"},
                                   Quantity::count(),
                                   [](const MemoryError& row) { return text_of(row.predicted); }}),
          table_only<MemoryError>({"",
                                   {"measured"},
                                   Quantity::count(),
                                   [](const MemoryError& row) { return text_of(row.measured); }}),
          {"predicted_bytes",
           [](const MemoryError& row) { return row.predicted ? Json(*row.predicted) : Json(); }},
          {"measured_bytes",
           [](const MemoryError& row) { return row.measured ? Json(*row.measured) : Json(); }},
          {"error",
           {"error"},
           Quantity::each_as([](double error) { return format_change(1, 1 + error); }),
           change}};
}

}  // namespace pipewright::analysis
