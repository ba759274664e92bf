#include "schedules/blocks/reorder.hpp"

#include <cmath>

#include "schedules/blocks/slide.hpp"
#include "schedules/blocks/squeeze.hpp"
#include "schedules/justify.hpp"

namespace pipewright::schedules {
namespace {

Grid justified(const Grid& grid, const std::vector<std::int64_t>& peaks) {
  const std::uint32_t stages = grid.routes.stages();
  const auto devices = static_cast<std::uint32_t>(grid.rows.size());
  const Pipeline pipeline{.routes = grid.routes,
                          .devices = devices,
                          .microbatches = grid.microbatches,
                          .times = times_in_cells(grid.lengths, stages),
                          .memory = {.held = std::vector<std::int64_t>(stages, 1),
                                     .released_by_input_grad = std::vector<std::int64_t>(stages, 0),
                                     .limit = peaks},
                          .recomputed = grid.recomputed};
  const Justifier justifier(pipeline);
  constexpr int rounds = 4;
  const Plan best =
      justifier.improve(justifier.plan(order_of(grid)), Pull::safe, Objective::span, rounds);
  Grid result = grid;
  for (std::uint32_t device = 0; device < devices; ++device)
    for (std::size_t i = 0; i < result.rows[device].size(); ++i)
      result.rows[device][i] = {best.order[device][i], std::llround(best.start[device][i])};
  return result;
}

}  // namespace

std::vector<std::int64_t> peaks_of(const Grid& grid) {
  const Schedule schedule = to_schedule(grid);
  std::vector<std::int64_t> peaks;
  for (const double microbatches : peak_in_flight(schedule))
    peaks.push_back(std::llround(microbatches / schedule.share()));
  return peaks;
}

Grid reorder(const Grid& grid, const std::vector<std::int64_t>& peaks) {
  return justified(squeeze(slide(grid, peaks)), peaks);
}

}  // namespace pipewright::schedules
