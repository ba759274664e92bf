#include "sim/evaluation/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace pipewright::evaluation {
namespace {

using analysis::DeviceSummary;
using analysis::Summary;
using Summaries = std::array<Summary, ShortRuns::count>;

constexpr double rounding = 1e-9;  // of sums of times

// Continues the figures of short runs to a run with `periods` more periods than the first one.
class Line {
 public:
  explicit Line(double periods) : periods_(periods) {}

  // `figure` returns a reference to a figure of a run.
  template <class Run, class Figure>
  void extend(const std::array<Run*, ShortRuns::count>& runs, Run& into, const Figure& figure) {
    const double first = static_cast<double>(figure(*runs.front()));
    const double last = static_cast<double>(figure(*runs.back()));
    const double step = (last - first) / (ShortRuns::count - 1);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const double expected = first + static_cast<double>(i) * step;
      is_straight_ = is_straight_ && std::abs(static_cast<double>(figure(*runs[i])) - expected) <=
                                         rounding * std::max(1e-3, std::abs(last));
    }
    using Value = std::remove_reference_t<decltype(figure(into))>;
    const double value = first + periods_ * step;
    if constexpr (std::is_integral_v<Value>)
      figure(into) = static_cast<Value>(std::llround(value));
    else
      figure(into) = value;
  }
  // Requires that a figure is the same in all runs.
  template <class Run, class Figure>
  void keep(const std::array<Run*, ShortRuns::count>& runs, const Figure& figure) {
    for (Run* const run : runs)
      is_straight_ = is_straight_ && figure(*run) == figure(*runs.front());
  }
  bool is_straight() const { return is_straight_; }

 private:
  double periods_;
  bool is_straight_ = true;
};

void extend_device(Line& line, const std::array<DeviceSummary*, ShortRuns::count>& runs,
                   DeviceSummary& into) {
  line.extend(runs, into, [](DeviceSummary& device) -> auto& { return device.passes; });
  for (const auto member : {&DeviceSummary::busy_s, &DeviceSummary::start_s, &DeviceSummary::end_s})
    line.extend(runs, into, [=](DeviceSummary& device) -> auto& { return device.*member; });
  using Parts = analysis::TimeParts;
  for (const auto part : {&Parts::compute, &Parts::in_passes, &Parts::p2p, &Parts::gradients,
                          &Parts::weights, &Parts::optimizer, &Parts::idle})
    line.extend(runs, into, [=](DeviceSummary& device) -> auto& { return device.parts.*part; });
  line.keep(runs, [](const DeviceSummary& device) { return device.peak_memory_bytes; });
  line.keep(runs, [](const DeviceSummary& device) { return device.peak_in_flight; });
}

// True if the ends of all devices move by the same time from run to run. Otherwise another device
// would be the last one of a longer run.
bool ends_together(const Summaries& runs) {
  const double step = runs.back().makespan_s - runs.front().makespan_s;
  for (std::size_t device = 0; device < runs.front().devices.size(); ++device) {
    const double of_device = runs.back().devices[device].end_s - runs.front().devices[device].end_s;
    if (std::abs(of_device - step) > rounding * runs.back().makespan_s) return false;
  }
  return true;
}

}  // namespace

std::optional<ShortRuns> short_runs(const config::Scenario& scenario,
                                    const config::ScheduleSpec& spec, std::uint32_t periods) {
  const std::uint32_t devices = scenario.devices.value;
  const auto& group = spec[&schedules::Parameters::group_size];
  const auto& chunks = spec[&schedules::Parameters::chunks];
  constexpr std::uint32_t directions = 2;  // of bidirectional schedules
  ShortRuns runs{.period = std::lcm(std::lcm(devices, directions), group ? group->value : 1U)};
  const std::uint64_t fewest =
      std::uint64_t{runs.period} * periods * (chunks ? std::max(1U, chunks->value) : 1U);
  const std::uint32_t microbatches = scenario.microbatches.value;
  const std::uint64_t first = fewest + (microbatches - fewest % runs.period) % runs.period;
  for (std::size_t i = 0; i < ShortRuns::count; ++i) {
    const std::uint64_t of_run = first + i * runs.period;
    if (of_run >= microbatches) return std::nullopt;
    runs.microbatches[i] = static_cast<std::uint32_t>(of_run);
  }
  return runs;
}

std::optional<Summary> extrapolate(const ShortRuns& runs, const Summaries& of_runs,
                                   std::uint32_t microbatches) {
  Summaries copies = of_runs;
  Summary whole = of_runs.back();
  std::array<Summary*, ShortRuns::count> of_lengths{};
  for (std::size_t i = 0; i < copies.size(); ++i) of_lengths[i] = &copies[i];
  const std::uint32_t periods = (microbatches - runs.microbatches.front()) / runs.period;
  Line line(periods);
  line.extend(of_lengths, whole, [](Summary& run) -> auto& { return run.makespan_s; });
  for (std::size_t device = 0; device < whole.devices.size(); ++device) {
    std::array<DeviceSummary*, ShortRuns::count> devices{};
    for (std::size_t i = 0; i < copies.size(); ++i) devices[i] = &copies[i].devices[device];
    extend_device(line, devices, whole.devices[device]);
  }
  for (std::size_t row = 0; row < whole.pass_collectives.size(); ++row) {
    using Row = analysis::PassCollectives;
    std::array<Row*, ShortRuns::count> rows{};
    for (std::size_t i = 0; i < copies.size(); ++i) rows[i] = &copies[i].pass_collectives[row];
    Row& into = whole.pass_collectives[row];
    line.extend(rows, into, [](Row& calls) -> auto& { return calls.calls; });
    line.extend(rows, into, [](Row& calls) -> auto& { return calls.bytes; });
    for (const auto range : {&Row::seconds, &Row::exposed_s}) {
      line.extend(rows, into, [=](Row& calls) -> auto& { return (calls.*range).least; });
      line.extend(rows, into, [=](Row& calls) -> auto& { return (calls.*range).most; });
    }
  }
  if (!line.is_straight() || !ends_together(of_runs)) return std::nullopt;
  whole.span_bubble_s = 0;
  for (const DeviceSummary& device : whole.devices)
    whole.span_bubble_s =
        std::max(whole.span_bubble_s, device.end_s - device.start_s - device.busy_s);
  if (whole.span_bubble_s < rounding * whole.makespan_s) whole.span_bubble_s = 0;
  whole.run.microbatches = microbatches;
  analysis::set_rates(whole);
  return whole;
}

Summary steady_run(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                   const std::function<Summary(std::uint32_t)>& simulate) {
  const std::uint32_t microbatches = scenario.microbatches.value;
  for (std::uint32_t periods = least_periods; periods <= 4 * least_periods; periods *= 2) {
    const std::optional<ShortRuns> runs = short_runs(scenario, spec, periods);
    if (!runs) return simulate(microbatches);
    Summaries summaries;
    for (std::size_t i = 0; i < summaries.size(); ++i)
      summaries[i] = simulate(runs->microbatches[i]);
    const auto whole = extrapolate(*runs, summaries, microbatches);
    if (!whole) continue;
    // A schedule may take longer to reach its steady state than the short runs show.
    const std::uint32_t farther = runs->microbatches.back() + 4 * periods * runs->period;
    if (farther >= microbatches) return simulate(microbatches);
    const double expected = extrapolate(*runs, summaries, farther)->makespan_s;
    if (std::abs(simulate(farther).makespan_s - expected) <= rounding * expected) return *whole;
  }
  throw config::Error(
      spec.origin,
      fmt::format("{} does not repeat: its time does not grow by the same amount with every {} "
                  "microbatches, which --steady-state assumes",
                  spec.name, short_runs(scenario, spec, 1)->period))
      .suggest("leave out --steady-state, or use fewer microbatches");
}

}  // namespace pipewright::evaluation
