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

constexpr std::uint64_t fewest = 10;  // measured runs that tell a 5th and a 95th percentile

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

// gpu, precision, model, rows, p5, p50, p95, compared rows, scatter; the last is empty where no
// two runs of one model were measured.
std::optional<analysis::ErrorBand> band_of(const std::vector<std::string>& cells) {
  constexpr std::size_t columns = 9;
  if (cells.size() != columns) return std::nullopt;
  const auto share = [&](std::size_t at) { return std::stod(cells[at]) / 100; };
  return analysis::ErrorBand{.kind = fmt::format("{}, {}, {}", cells[0], cells[1], cells[2]),
                             .rows = std::stoull(cells[3]),
                             .low = share(4),
                             .middle = share(5),
                             .high = share(6),
                             .scatter = share(8)};
}

}  // namespace

std::optional<analysis::ErrorBand> error_band(const config::Value& scenario,
                                              const std::string& gpu) {
  const config::Scenario read = config::read_scenario(scenario);
  if (!read.model) return std::nullopt;
  const std::string type = read.gpu ? read.gpu->name : gpu;
  const std::string precision(config::name_of(read.training.precision));
  const std::string model = read.model->value.experts ? "experts" : "dense";
  const std::array wanted{fmt::format("{},{},{},", type, precision, model),
                          fmt::format("any,{},{},", precision, model),
                          fmt::format("any,any,{},", model)};
  std::array<std::optional<analysis::ErrorBand>, wanted.size()> found;
  std::ifstream file(config::library_file("accuracy", "iterations", ".csv"));
  for (std::string line; std::getline(file, line);)
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (line.starts_with(wanted[i])) found[i] = band_of(cells_of(line));
  for (const auto& band : found)
    if (band && band->rows >= fewest) return band;
  return std::nullopt;
}

}  // namespace pipewright::search
