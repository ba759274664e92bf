#include "analysis/measured/waits.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double microsecond = 1e-6;
constexpr double rounding_us = 1;  // of a profiler

using Times = std::vector<std::optional<double>>;

// When the last receive ended that the CPU waited for within each pass, on its device's clock.
Times receives_within(const std::vector<NumberedPass>& passes, const HoldsWaits& waits,
                      const std::vector<MarkedDevice>& devices, const std::vector<double>& shifts) {
  Times found;
  for (const NumberedPass& pass : passes) {
    found.emplace_back();
    if (!waits[pass.device]) continue;
    const std::vector<double>& ends = devices[pass.device].receives;
    const double shift = shifts[pass.device];
    const auto behind = std::ranges::upper_bound(ends, pass.end_us - shift);
    if (behind != ends.begin() && *std::prev(behind) + shift > pass.start_us)
      found.back() = *std::prev(behind) + shift;
  }
  return found;
}

// What a transfer takes at least, by the receives that were waited for.
double least_latency(const Times& produced, const Times& received) {
  std::optional<double> least;
  for (std::size_t i = 0; i < produced.size(); ++i)
    if (produced[i] && received[i] && *received[i] >= *produced[i])
      least = std::min(least.value_or(*received[i] - *produced[i]), *received[i] - *produced[i]);
  return least.value_or(0);
}

bool is_fused(const NumberedPass& one, const NumberedPass& other) {
  return one.device == other.device && one.start_us == other.start_us && one.end_us == other.end_us;
}

}  // namespace

HoldsWaits holds_waits(const std::vector<NumberedPass>& passes,
                       const std::vector<MarkedDevice>& devices) {
  HoldsWaits waits;
  for (const MarkedDevice& device : devices) waits.push_back(device.category == cpu_category);
  if (shifts_can_mend(handovers(passes, waits), devices.size())) return waits;
  const HoldsWaits all(devices.size(), true);
  const bool explains = std::ranges::all_of(
      handovers(passes, all), [](const PassHandover& one) { return one.impossible == 0; });
  return explains ? all : waits;
}

void cut_waits(std::vector<NumberedPass>& passes, const HoldsWaits& waits,
               const std::vector<MarkedDevice>& devices, const std::vector<double>& shifts,
               std::vector<std::string>& notes) {
  const Times produced = producers_end(passes);
  const Times received = receives_within(passes, waits, devices, shifts);
  const double latency = least_latency(produced, received);
  std::vector<double> starts;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    double arrival = passes[i].start_us;
    if (produced[i]) arrival = std::max(arrival, *produced[i] + (received[i] ? 0 : latency));
    if (received[i]) arrival = std::max(arrival, *received[i]);
    starts.push_back(std::min(arrival, passes[i].end_us));
  }
  for (std::size_t i = 1; i < passes.size(); ++i)  // a pair starts when both have their input
    if (is_fused(passes[i - 1], passes[i]))
      starts[i - 1] = starts[i] = std::max(starts[i - 1], starts[i]);

  std::vector<std::size_t> counts(devices.size());
  std::vector<double> sums(devices.size());
  for (std::size_t i = 0; i < passes.size(); ++i) {
    NumberedPass& pass = passes[i];
    const double wait = starts[i] - pass.start_us;
    if (!waits[pass.device] || wait <= rounding_us) continue;
    const bool second = i > 0 && passes[i - 1].device == pass.device &&
                        passes[i - 1].end_us == pass.end_us;  // of a fused pair
    if (!second) {
      ++counts[pass.device];
      sums[pass.device] += wait;
    }
    pass.start_us = starts[i];
  }
  for (std::size_t device = 0; device < devices.size(); ++device)
    if (counts[device] > 0)
      notes.push_back(fmt::format("{} waits for input within {}: {} of waiting is cut and not busy",
                                  printable(devices[device].name), counted(counts[device], "pass"),
                                  format_seconds(sums[device] * microsecond)));
}

}  // namespace pipewright::analysis
