#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/routes.hpp"
#include "schedules/text/torch_action.hpp"

namespace pipewright::schedules {

struct PlacedAction {
  TorchAction action;
  std::uint32_t column = 0;  // from 0; the row is the rank's
};
using PlacedRows = std::vector<std::vector<PlacedAction>>;

// Which stage is where, by the passes of each row. Throws Error, located, unless every stage from 0
// on is on one rank and every rank has as many.
Routes find_routes(const PlacedRows& rows, const std::string& file);

// Throws Error, located, unless every stage runs every microbatch's F, then B or I and W, once.
// Returns the number of microbatches.
std::uint32_t check_passes(const PlacedRows& rows, const Routes& routes, const std::string& file);

// The same for transfers: one SEND and one RECV for every tensor that crosses ranks, the one after
// the pass that makes the tensor, the other before the pass that needs it, and no others.
// The passes must have been checked.
void check_transfers(const PlacedRows& rows, const Routes& routes, std::uint32_t microbatches,
                     const std::string& file);

}  // namespace pipewright::schedules
