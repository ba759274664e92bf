#include "schedules/text/cell_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

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
  // A band begins where the ruler has a number.
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

}  // namespace pipewright::schedules
