#include "analysis/measured/waits.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double waits_microsecond = 1e-6;
constexpr double profiler_rounding_us = 1;  // Rounding of a profiler.

using OptionalTimes = std::vector<std::optional<double>>;

// Returns for each pass the end of the last receive within it that blocked the CPU, on the clock of
// the pass's device.
OptionalTimes receives_within(const std::vector<NumberedPass>& passes, const IncludesWaits& waits,
                              const std::vector<MarkedDevice>& devices,
                              const std::vector<double>& shifts) {
  OptionalTimes receive_ends;
  for (const NumberedPass& pass : passes) {
    receive_ends.emplace_back();
    if (!waits[pass.device]) continue;
    const std::vector<double>& ends = devices[pass.device].receives;
    const double shift = shifts[pass.device];
    const auto next_end = std::ranges::upper_bound(ends, pass.end_us - shift);
    if (next_end != ends.begin() && *std::prev(next_end) + shift > pass.start_us)
      receive_ends.back() = *std::prev(next_end) + shift;
  }
  return receive_ends;
}

// Returns the shortest time of a transfer, from the end of a pass to the end of the receive that
// blocked the CPU for its output.
double min_latency(const OptionalTimes& produced, const OptionalTimes& received) {
  std::optional<double> minimum;
  for (std::size_t i = 0; i < produced.size(); ++i)
    if (produced[i] && received[i] && *received[i] >= *produced[i])
      minimum =
          std::min(minimum.value_or(*received[i] - *produced[i]), *received[i] - *produced[i]);
  return minimum.value_or(0);
}

bool are_fused_passes(const NumberedPass& first, const NumberedPass& is_second) {
  return first.device == is_second.device && first.start_us == is_second.start_us &&
         first.end_us == is_second.end_us;
}

}  // namespace

IncludesWaits passes_include_waits(const std::vector<NumberedPass>& passes,
                                   const std::vector<MarkedDevice>& devices) {
  IncludesWaits waits;
  for (const MarkedDevice& device : devices) waits.push_back(device.category == cpu_category);
  if (shifts_can_fix(handovers(passes, waits), devices.size())) return waits;
  const IncludesWaits all_devices(devices.size(), true);
  const bool is_explained =
      std::ranges::all_of(handovers(passes, all_devices),
                          [](const PassHandover& handover) { return handover.impossible == 0; });
  return is_explained ? all_devices : waits;
}

void cut_waits(std::vector<NumberedPass>& passes, const IncludesWaits& waits,
               const std::vector<MarkedDevice>& devices, const std::vector<double>& shifts,
               std::vector<std::string>& notes) {
  const OptionalTimes produced = producers_end(passes);
  const OptionalTimes received = receives_within(passes, waits, devices, shifts);
  const double latency = min_latency(produced, received);
  std::vector<double> starts;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    double arrival = passes[i].start_us;
    if (produced[i]) arrival = std::max(arrival, *produced[i] + (received[i] ? 0 : latency));
    if (received[i]) arrival = std::max(arrival, *received[i]);
    starts.push_back(std::min(arrival, passes[i].end_us));
  }
  // A fused pair starts when the inputs of both passes have arrived.
  for (std::size_t i = 1; i < passes.size(); ++i)
    if (are_fused_passes(passes[i - 1], passes[i]))
      starts[i - 1] = starts[i] = std::max(starts[i - 1], starts[i]);

  std::vector<std::size_t> counts(devices.size());
  std::vector<double> sums(devices.size());
  for (std::size_t i = 0; i < passes.size(); ++i) {
    NumberedPass& pass = passes[i];
    const double wait = starts[i] - pass.start_us;
    if (!waits[pass.device] || wait <= profiler_rounding_us) continue;
    const bool is_second = i > 0 && passes[i - 1].device == pass.device &&
                           passes[i - 1].end_us == pass.end_us;  // Second pass of a fused pair.
    if (!is_second) {
      ++counts[pass.device];
      sums[pass.device] += wait;
    }
    pass.start_us = starts[i];
  }
  for (std::size_t device = 0; device < devices.size(); ++device)
    if (counts[device] > 0)
      notes.push_back(
          fmt::format("{} waits for input within {}: {} of waiting are removed and count as idle",
                      printable(devices[device].name), counted(counts[device], "pass"),
                      format_seconds(sums[device] * waits_microsecond)));
}

}  // namespace pipewright::analysis
