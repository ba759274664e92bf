#include "schedules/text/picture.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/timing.hpp"

namespace pipewright::schedules {
namespace {

std::string label(const Schedule& schedule, const Pass& pass) {
  std::string text = fmt::format("{}{}", letter(pass.kind), pass.microbatch);
  if (schedule.chunks > 1)
    text += static_cast<char>('a' + schedule.routes.chunk(pass.stage, pass.microbatch) % 26);
  return text;
}

}  // namespace

std::string draw_text(const Schedule& schedule) {
  PassTimes times;
  for (const auto& [kind, cells] : {std::pair{PassKind::forward, 1.0},
                                    {PassKind::input_grad, 1.0},
                                    {PassKind::weight_grad, 1.0},
                                    {PassKind::backward, 2.0}})
    times.of_stage[static_cast<int>(kind)].assign(schedule.stages(), cells);
  const std::size_t width =
      fmt::formatted_size("{}", schedule.total_microbatches() - 1) + (schedule.chunks > 1 ? 3 : 2);

  std::vector<std::string> rows(schedule.devices);
  const auto idle_to = [&](std::string& row, double cell) {
    const std::string idle = fmt::format("{:<{}}", '.', width);
    while (row.size() < static_cast<std::size_t>(std::lround(cell)) * width) row += idle;
  };
  const HopTimes hops(0);
  double makespan = 0;
  Timing(schedule, times, hops, P2p::eager)
      .run([&](std::uint32_t device, const Pass& pass, const PassSpan& span) {
        const auto cells = static_cast<std::size_t>(std::lround(span.end - span.start));
        idle_to(rows[device], span.start);
        rows[device] += fmt::format("{:<{}}", label(schedule, pass), cells * width);
        makespan = std::max(makespan, span.end);
      });

  std::string text = fmt::format("{}: {} devices x {} microbatches", schedule.name,
                                 schedule.devices, schedule.microbatches);
  if (schedule.chunks > 1) text += fmt::format(", {} chunks a device", schedule.chunks);
  if (schedule.iterations > 1) text += fmt::format(", {} iterations", schedule.iterations);
  text += fmt::format("; a cell is one F or half a B\nin flight at the peak: {} microbatches\n",
                      fmt::join(peak_in_flight(schedule), ", "));
  const std::size_t digits = fmt::formatted_size("{}", schedule.devices - 1);
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    idle_to(rows[device], makespan);
    rows[device].erase(rows[device].find_last_not_of(' ') + 1);
    text += fmt::format("device {:>{}} | {}\n", device, digits, rows[device]);
  }
  return text;
}

}  // namespace pipewright::schedules
