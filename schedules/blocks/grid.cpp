#include "schedules/blocks/grid.hpp"

#include <utility>

namespace pipewright::schedules {

Schedule to_schedule(const Grid& grid) {
  const auto devices = static_cast<std::uint32_t>(grid.rows.size());
  Schedule schedule{.name = grid.name,
                    .devices = devices,
                    .chunks = grid.routes.stages() * grid.routes.count() / devices,
                    .microbatches = grid.microbatches,
                    .recomputed = grid.recomputed,
                    .routes = grid.routes,
                    .programs = {}};
  for (const auto& row : grid.rows) {
    std::vector<Pass> passes;
    passes.reserve(row.size());
    for (const Cell& cell : row) passes.push_back(cell.pass);
    schedule.programs.emplace_back().repeat(1, 0, std::move(passes));
  }
  return schedule;
}

}  // namespace pipewright::schedules
