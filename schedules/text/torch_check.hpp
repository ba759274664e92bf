#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

namespace pipewright::schedules {

// Where a cell stands. Both are counted from 1 in messages and from 0 here: a row is a line of the
// file and the row of a rank, a column is a cell of it.
struct TorchPlace {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};

// A fault at a cell of a file.
struct LocatedError : Error {
  LocatedError(const std::string& text, TorchPlace place_) : Error(text), place(place_) {}
  TorchPlace place;
};

// "file.csv:2:5: row 2 (rank 1), cell 5: message"
LocatedError located(const std::string& file, TorchPlace place, std::string_view message);

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

// NCCL's point-to-point transfers have no tags: the first send of one rank to another goes into the
// first receive posted there for that rank, whatever tensor either means.
//
// A send and the receive of the same turn between two ranks, which mean different tensors.
struct Swap {
  std::uint32_t sender = 0;  // ranks
  std::uint32_t receiver = 0;
  std::size_t turn = 0;        // so many transfers of the pair come before
  std::size_t send_index = 0;  // in the sender's row
  std::size_t receive_index = 0;
  TorchAction send;
  TorchAction receive;
};

// "NCCL would swap tensors: receive 2 of rank 0 from rank 1 is .., and send 2 .. is .."
std::string describe(const Swap& swap);

// The first receive, by rank and place in the row, that would get another tensor, if there is one.
// The transfers must be complete, as read_torch_csv and lower leave them.
std::optional<Swap> first_swap(const TorchRows& rows, const Routes& routes);

// Throws Error, located in the file that the rows are of, where there is one.
void check_pair_order(const TorchRows& rows, const Routes& routes, const std::string& file);

}  // namespace pipewright::schedules
