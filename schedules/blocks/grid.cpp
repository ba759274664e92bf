#include "schedules/blocks/grid.hpp"

#include <utility>

namespace pipewright::schedules {

std::vector<std::vector<Pass>> order_of(const Grid& grid) {
  std::vector<std::vector<Pass>> order(grid.rows.size());
  for (std::size_t device = 0; device < order.size(); ++device) {
    order[device].reserve(grid.rows[device].size());
    for (const Cell& cell : grid.rows[device]) order[device].push_back(cell.pass);
  }
  return order;
}

Schedule to_schedule(const Grid& grid) {
  const auto devices = static_cast<std::uint32_t>(grid.rows.size());
  Schedule schedule{.name = grid.name,
                    .devices = devices,
                    .chunks = grid.routes.stages() * grid.routes.count() / devices,
                    .microbatches = grid.microbatches,
                    .recomputed = grid.recomputed,
                    .routes = grid.routes,
                    .programs = {}};
  for (std::vector<Pass>& passes : order_of(grid))
    schedule.programs.emplace_back().repeat(1, 0, std::move(passes));
  return schedule;
}

}  // namespace pipewright::schedules
