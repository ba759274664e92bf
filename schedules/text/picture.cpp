#include "schedules/text/picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/blocks/grid.hpp"
#include "schedules/text/counted.hpp"
#include "schedules/timing.hpp"

namespace pipewright::schedules {
namespace {

// Draws passes as text: a row of cells of equal width per device, with labels in the cells that
// passes take and dots in idle ones.
class CellRows {
 public:
  CellRows(std::uint32_t devices, std::uint32_t microbatches, bool chunks);

  // Adds a pass, in order of time on each device. A label that is too long continues in the next
  // cells of its pass.
  void add(std::uint32_t device, std::int64_t cell, std::int64_t cells, const std::string& label);

  // Label of a pass: "F3b"; "F3b+B1a" for a fused pair.
  std::string label(const Routes& routes, const Pass& pass) const;
  std::string label(const Routes& routes, const Pass& pass, const Pass& fused) const;

  // Returns the picture. Rows longer than `columns` characters continue below; 0 means no limit.
  // With `ruler` > 0, a line above the rows numbers every `ruler`-th cell.
  std::string text(std::size_t columns = 0, std::int64_t ruler = 0) const;

 private:
  void idle_to(std::string& row, std::int64_t cell) const;

  std::size_t width_;  // Width of a cell in characters.
  bool chunks_;        // Labels have a letter for the chunk.
  std::int64_t end_ = 0;
  std::vector<std::string> rows_;
};

std::string without_end(std::string row) {
  row.erase(row.find_last_not_of(' ') + 1);
  return row;
}

}  // namespace

CellRows::CellRows(std::uint32_t devices, std::uint32_t microbatches, bool chunks)
    : width_(fmt::formatted_size("{}", std::max(microbatches, 1U) - 1) + (chunks ? 3 : 2)),
      chunks_(chunks),
      rows_(devices) {}

std::string CellRows::label(const Routes& routes, const Pass& pass) const {
  std::string text = fmt::format("{}{}", letter(pass.kind), pass.microbatch);
  if (chunks_) text += static_cast<char>('a' + routes.chunk(pass.stage, pass.microbatch) % 26);
  return text;
}

std::string CellRows::label(const Routes& routes, const Pass& pass, const Pass& fused) const {
  return label(routes, pass) + "+" + label(routes, fused);
}

void CellRows::idle_to(std::string& row, std::int64_t cell) const {
  const std::string idle = fmt::format("{:<{}}", '.', width_);
  while (row.size() < static_cast<std::size_t>(cell) * width_) row += idle;
}

void CellRows::add(std::uint32_t device, std::int64_t cell, std::int64_t cells,
                   const std::string& label) {
  idle_to(rows_[device], cell);
  rows_[device] += fmt::format("{:<{}}", label, static_cast<std::size_t>(cells) * width_);
  end_ = std::max(end_, cell + cells);
}

std::string CellRows::text(std::size_t columns, std::int64_t ruler) const {
  const std::size_t digits = fmt::formatted_size("{}", rows_.size() - 1);
  const std::size_t margin = digits + std::string_view("device  | ").size();
  const auto cells = static_cast<std::size_t>(end_);
  std::size_t per_band = std::max<std::size_t>(cells, 1);
  if (columns > 0)
    per_band = std::max<std::size_t>(1, (std::max(columns, margin) - margin) / width_);
  // Rows are cut where the ruler has a number.
  const auto every = static_cast<std::size_t>(ruler);
  if (every > 0 && per_band > every && per_band < cells) per_band -= per_band % every;

  std::string text;
  for (std::size_t from = 0; from < cells; from += per_band) {
    if (from > 0) text += '\n';
    const std::size_t count = std::min(per_band, cells - from);
    if (every > 0) {
      std::string numbers = fmt::format("{:>{}}", "| ", margin);
      for (std::size_t cell = from; cell < from + count; cell += every)
        numbers += fmt::format("{:<{}}", cell, every * width_);
      text += without_end(std::move(numbers)) + '\n';
    }
    for (std::size_t device = 0; device < rows_.size(); ++device) {
      std::string row = rows_[device];
      idle_to(row, end_);
      text += without_end(fmt::format("device {:>{}} | {}", device, digits,
                                      row.substr(from * width_, count * width_))) +
              '\n';
    }
  }
  return text;
}

std::string draw_text(const Schedule& schedule) {
  const PassTimes times = times_in_cells(unit_lengths, schedule.stages());
  CellRows rows(schedule.devices, schedule.total_microbatches(), schedule.chunks > 1);
  std::vector<std::optional<Pass>> first(schedule.devices);  // First pass of a fused pair.
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
  if (schedule.chunks > 1) text += fmt::format(", {} chunks per device", schedule.chunks);
  if (schedule.slices > 1) text += fmt::format(", {} slices each", schedule.slices);
  if (schedule.iterations > 1) text += fmt::format(", {} iterations", schedule.iterations);
  text += fmt::format("; a cell is one F or half a B\nin flight at the peak: {}\n",
                      counted_microbatches(peak_in_flight(schedule)));
  return text + rows.text();
}
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

// Describes a grid's idle time: bubble ratio = 1 - busy / (devices x makespan); span bubble =
// maximum over devices of (last end - first start - busy).
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
      "lifespans of activations in cells; at most ceil(l/{}) activations of lifespan l are held at "
      "a time\n",
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
