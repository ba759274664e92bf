#include "schedules/text/grid_picture.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/text/cell_rows.hpp"
#include "schedules/text/counted.hpp"

namespace pipewright::schedules {
namespace {

std::int64_t length(const CellLengths& lengths, const Pass& pass) {
  return lengths[static_cast<std::size_t>(pass.kind)];
}

CellRows draw_rows(const Grid& grid) {
  std::int64_t first = 0;
  for (const auto& row : grid.rows)
    if (!row.empty()) first = std::min(first, row.front().start);
  const auto devices = static_cast<std::uint32_t>(grid.rows.size());
  CellRows rows(devices, grid.microbatches, grid.routes.stages() > devices);
  for (std::uint32_t device = 0; device < devices; ++device)
    for (const Cell& cell : grid.rows[device])
      rows.add(device, cell.start - first, length(grid.lengths, cell.pass),
               rows.label(grid.routes, cell.pass));
  return rows;
}

// "idle 11 of 59 cells (bubble ratio 18.6 %)": bubble ratio = 1 - busy / (devices x makespan);
// span bubble = max over devices of (last end - first start - busy).
std::string bubbles(const Grid& grid) {
  std::int64_t busy = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t span_bubble = 0;
  for (const auto& row : grid.rows) {
    if (row.empty()) continue;
    std::int64_t of_device = 0;
    for (const Cell& cell : row) of_device += length(grid.lengths, cell.pass);
    const std::int64_t last = row.back().start + length(grid.lengths, row.back().pass);
    span_bubble = std::max(span_bubble, last - row.front().start - of_device);
    begin = std::min(begin, row.front().start);
    end = std::max(end, last);
    busy += of_device;
  }
  const double whole = static_cast<double>(grid.rows.size()) * static_cast<double>(end - begin);
  return fmt::format("{} cells, bubble ratio {:.1f} %, span bubble {} cells", end - begin,
                     whole > 0 ? 100 * (1 - static_cast<double>(busy) / whole) : 0, span_bubble);
}

std::string lifespan_lines(const BuildingBlock& block) {
  const std::uint32_t stages = block.routes.stages();
  const std::vector<std::int64_t> cells = lifespans(block);
  const std::vector<double> bound = lifespan_bound(block);
  std::vector<std::vector<std::string>> of_device(block.devices);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto stage = static_cast<std::uint32_t>(i % stages);
    const auto microbatch = static_cast<std::uint32_t>(i / stages);
    std::string text = fmt::format("{}", cells[i]);
    if (stages > block.devices)
      text +=
          fmt::format(" ({})", static_cast<char>('a' + block.routes.chunk(stage, microbatch) % 26));
    of_device[block.routes.device(stage, microbatch)].push_back(std::move(text));
  }
  std::string lines = fmt::format(
      "activations live so many cells; each l cells long takes at most ceil(l/{}) at a time\n",
      block.interval);
  const std::size_t digits = fmt::formatted_size("{}", block.devices - 1);
  for (std::uint32_t device = 0; device < block.devices; ++device)
    lines += fmt::format("device {:>{}} | {}: at most {}\n", device, digits,
                         fmt::join(of_device[device], ", "),
                         counted_microbatches(std::vector<double>{bound[device]}));
  return lines;
}

}  // namespace

std::string draw_text(const BuildingBlock& block, std::size_t columns) {
  Grid grid{.name = block.name,
            .routes = block.routes,
            .microbatches = block.microbatches,
            .lengths = block.lengths,
            .recomputed = block.recomputed,
            .rows = std::vector<std::vector<Cell>>(block.devices)};
  for (const BlockPass& placed : block.passes)
    grid.rows[block.routes.device(placed.pass.stage, placed.pass.microbatch)].push_back(
        {placed.pass, placed.cell});
  for (auto& row : grid.rows) std::ranges::sort(row, {}, &Cell::start);
  return draw_rows(grid).text(columns, block.interval) + lifespan_lines(block);
}

std::string draw_text(const Grid& grid, std::int64_t ruler, std::size_t columns) {
  return fmt::format("{}; in flight at the peak: {}\n", bubbles(grid),
                     counted_microbatches(peak_in_flight(to_schedule(grid)))) +
         draw_rows(grid).text(columns, ruler);
}

}  // namespace pipewright::schedules
