#include "schedules/blocks/squeeze.hpp"

#include <cmath>

#include "schedules/timing.hpp"

namespace pipewright::schedules {

PassTimes times_in_cells(const CellLengths& lengths, std::uint32_t stages) {
  PassTimes times;
  for (std::size_t kind = 0; kind < pass_kinds; ++kind)
    times.of_stage[kind].assign(stages, static_cast<double>(lengths[kind]));
  return times;
}

Grid squeeze(const Grid& grid) {
  const Schedule schedule = to_schedule(grid);
  const PassTimes times = times_in_cells(grid.lengths, schedule.stages());
  const HopTimes hops(0);
  Grid squeezed = grid;
  for (auto& row : squeezed.rows) row.clear();
  Timing(schedule, times, hops, P2p::eager)
      .run([&](std::uint32_t device, const Pass& pass, const PassSpan& span) {
        squeezed.rows[device].push_back({pass, std::llround(span.start)});
      });
  return squeezed;
}

}  // namespace pipewright::schedules
