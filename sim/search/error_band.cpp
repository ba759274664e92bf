#include "sim/search/error_band.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::search {
namespace {

constexpr std::uint64_t min_runs = 10;  // measured runs needed for a 5th and a 95th percentile

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

// Parses a row with the columns gpu, precision, model, rows, p5, p50, p95, compared rows and
// scatter. The scatter is empty where no two runs of one model were measured.
std::optional<analysis::ErrorBand> band_of(const std::vector<std::string>& cells) {
  constexpr std::size_t columns = 9;
  if (cells.size() != columns) return std::nullopt;
  const auto percent_cell = [&](std::size_t column) { return std::stod(cells[column]) / 100; };
  return analysis::ErrorBand{.kind = fmt::format("{}, {}, {}", cells[0], cells[1], cells[2]),
                             .rows = std::stoull(cells[3]),
                             .low = percent_cell(4),
                             .middle = percent_cell(5),
                             .high = percent_cell(6),
                             .scatter = percent_cell(8)};
}

}  // namespace

std::optional<analysis::ErrorBand> error_band(const config::Value& scenario,
                                              const std::string& gpu) {
  const config::Scenario read = config::read_scenario(scenario);
  if (!read.model) return std::nullopt;
  const std::string type = read.gpu ? read.gpu->name : gpu;
  const std::string precision(config::name_of(read.training.precision));
  const std::string model = read.model->value.experts ? "experts" : "dense";
  const std::array prefixes{fmt::format("{},{},{},", type, precision, model),
                            fmt::format("any,{},{},", precision, model),
                            fmt::format("any,any,{},", model)};
  std::array<std::optional<analysis::ErrorBand>, prefixes.size()> bands;
  std::ifstream file(config::library_file("accuracy", "iterations", ".csv"));
  for (std::string line; std::getline(file, line);)
    for (std::size_t i = 0; i < prefixes.size(); ++i)
      if (line.starts_with(prefixes[i])) bands[i] = band_of(cells_of(line));
  for (const auto& band : bands)
    if (band && band->rows >= min_runs) return band;
  return std::nullopt;
}

}  // namespace pipewright::search
