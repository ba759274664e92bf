#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "schedules/checks.hpp"
#include "schedules/text/torch_cells.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_validate.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::uint32_t most_ranks = 16384;  // as in the catalog

// The cells of a file, before anybody asks whether they make sense.
struct Sheet {
  PlacedRows rows;
  std::optional<TorchPlace> empty;          // the first cell that is,
  std::optional<TorchPlace> communication;  // and the first that makes the file compute_comms
};

Sheet read_sheet(std::string_view text, const std::string& file, bool legacy) {
  Sheet sheet;
  visit_cells(text, file, [&](TorchPlace place, std::string_view cell) {
    if (place.row >= most_ranks)
      throw located(file, place, fmt::format("{} ranks are the most", most_ranks));
    if (place.row == sheet.rows.size()) sheet.rows.emplace_back();
    if (cell.empty()) {
      if (!sheet.empty) sheet.empty = place;
      return;
    }
    try {
      for (const TorchAction& action : parse_torch_cell(cell, legacy)) {
        if (!is_pass(action.op) && !sheet.communication) sheet.communication = place;
        sheet.rows.back().push_back({action, place.column});
      }
    } catch (const Error& error) {
      throw located(file, place, error.what());
    }
  });
  return sheet;
}

Program program_of(const std::vector<PlacedAction>& row) {
  std::vector<Pass> passes;
  for (const PlacedAction& placed : row)
    if (is_pass(placed.action.op)) passes.push_back(to_pass(placed.action));
  Program program;
  program.repeat(1, 0, std::move(passes));
  return program;
}

}  // namespace

TorchFile read_torch_csv(std::string_view text, const std::string& file, bool legacy) {
  if (text.size() > most_torch_bytes)
    throw Error(fmt::format("{}: a schedule of more than {} MiB is not supported", file,
                            most_torch_bytes >> 20U));
  const Sheet sheet = read_sheet(text, file, legacy);
  if (sheet.rows.empty())
    throw Error(fmt::format("{}: the file is empty; a schedule has a row per rank", file));
  const TorchForm form = sheet.communication ? TorchForm::compute_comms : TorchForm::compute_only;
  if (sheet.communication && sheet.empty)
    throw located(file, *sheet.empty,
                  fmt::format("is empty; only files of passes alone have empty cells, and row {}, "
                              "cell {} communicates",
                              sheet.communication->row + 1, sheet.communication->column + 1));

  const Routes routes = find_routes(sheet.rows, file);
  const std::uint32_t microbatches = check_passes(sheet.rows, routes, file);
  const auto ranks = static_cast<std::uint32_t>(sheet.rows.size());
  TorchFile result{.form = form,
                   .schedule = {.name = std::filesystem::path(file).stem().string(),
                                .devices = ranks,
                                .chunks = routes.stages() / ranks,
                                .microbatches = microbatches,
                                .routes = routes,
                                .programs = {}},
                   .rows = {}};
  for (const auto& row : sheet.rows) result.schedule.programs.push_back(program_of(row));
  check_complete(result.schedule);
  if (form == TorchForm::compute_only) return result;

  check_transfers(sheet.rows, routes, microbatches, file);
  for (const auto& row : sheet.rows) {
    auto& actions = result.rows.emplace_back();
    for (const PlacedAction& placed : row) actions.push_back(placed.action);
  }
  return result;
}

}  // namespace pipewright::schedules
