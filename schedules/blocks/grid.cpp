#include "schedules/blocks/grid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "schedules/timing.hpp"

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
namespace {

std::int64_t modulo(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

// Throws Error if two passes take the same cell of the interval: their repetitions would collide.
void check_collisions(const BuildingBlock& block) {
  std::vector<std::vector<const BlockPass*>> taken(
      block.devices, std::vector<const BlockPass*>(static_cast<std::size_t>(block.interval)));
  for (const BlockPass& placed : block.passes) {
    const std::uint32_t device = block.routes.device(placed.pass.stage, placed.pass.microbatch);
    for (std::int64_t i = 0; i < block.lengths[static_cast<std::size_t>(placed.pass.kind)]; ++i) {
      const auto cell = static_cast<std::size_t>(modulo(placed.cell + i, block.interval));
      const BlockPass*& owner = taken[device][cell];
      if (owner != nullptr)
        throw Error(fmt::format(
            "{}: on device {}, {} at cell {} collides with {} at cell {}: both take cell {} of "
            "every {}",
            block.name, device, describe(placed.pass), placed.cell, describe(owner->pass),
            owner->cell, cell, block.interval));
      owner = &placed;
    }
  }
}

}  // namespace

Grid repeat(const BuildingBlock& block, std::uint32_t microbatches) {
  check_collisions(block);
  Grid grid{.name = block.name,
            .routes = block.routes,
            .microbatches = microbatches,
            .lengths = block.lengths,
            .recomputed = block.recomputed,
            .rows = std::vector<std::vector<Cell>>(block.devices)};
  std::int64_t earliest = block.passes.front().cell;
  for (const BlockPass& placed : block.passes) earliest = std::min(earliest, placed.cell);

  // Passes of a device are sorted by their cell within the interval, so that repetitions are in
  // order.
  std::vector<std::vector<BlockPass>> rows(block.devices);
  for (const BlockPass& placed : block.passes)
    rows[block.routes.device(placed.pass.stage, placed.pass.microbatch)].push_back(placed);
  const std::uint32_t blocks = (microbatches + block.microbatches - 1) / block.microbatches;
  for (std::uint32_t device = 0; device < block.devices; ++device) {
    auto& row = rows[device];
    std::sort(row.begin(), row.end(), [&](const BlockPass& a, const BlockPass& b) {
      return modulo(a.cell - earliest, block.interval) < modulo(b.cell - earliest, block.interval);
    });
    std::int64_t last = 0;
    for (const BlockPass& placed : row)
      last = std::max(last, (placed.cell - earliest) / block.interval);
    for (std::int64_t round = 0; round < blocks + last; ++round)
      for (const BlockPass& placed : row) {
        const std::int64_t repetition = round - (placed.cell - earliest) / block.interval;
        if (repetition < 0 || repetition >= blocks) continue;
        Pass pass = placed.pass;
        pass.microbatch += static_cast<std::uint32_t>(repetition) * block.microbatches;
        if (pass.microbatch >= microbatches) continue;
        grid.rows[device].push_back({pass, placed.cell - earliest + repetition * block.interval});
      }
  }
  return grid;
}

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
