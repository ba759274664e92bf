#include "schedules/text/picture.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "schedules/blocks/squeeze.hpp"
#include "schedules/text/cell_rows.hpp"
#include "schedules/text/counted.hpp"
#include "schedules/timing.hpp"

namespace pipewright::schedules {

std::string draw_text(const Schedule& schedule) {
  const PassTimes times = times_in_cells(unit_lengths, schedule.stages());
  CellRows rows(schedule.devices, schedule.total_microbatches(), schedule.chunks > 1);
  std::vector<std::optional<Pass>> first(schedule.devices);  // of a fused pair
  const HopTimes hops(0);
  Timing(schedule, times, hops, P2p::eager)
      .run([&](std::uint32_t device, const Pass& pass, const PassSpan& span) {
        if (pass.fused) {
          first[device] = pass;
          return;
        }
        rows.add(device, std::llround(span.start), std::llround(span.end - span.start),
                 first[device] ? rows.label(schedule.routes, *first[device], pass)
                               : rows.label(schedule.routes, pass));
        first[device].reset();
      });

  std::string text =
      fmt::format("{}: {} x {}", schedule.name, counted(schedule.devices, "device", "devices"),
                  counted_microbatches(schedule.microbatches));
  if (schedule.chunks > 1) text += fmt::format(", {} chunks a device", schedule.chunks);
  if (schedule.slices > 1) text += fmt::format(", {} slices each", schedule.slices);
  if (schedule.iterations > 1) text += fmt::format(", {} iterations", schedule.iterations);
  text += fmt::format("; a cell is one F or half a B\nin flight at the peak: {}\n",
                      counted_microbatches(peak_in_flight(schedule)));
  return text + rows.text();
}

}  // namespace pipewright::schedules
