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

// Position of a cell, counted from 0 here and from 1 in messages. A row is a line of the file and
// belongs to a rank; a column is a cell of it.
struct TorchPosition {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};

// An error in a schedule file, with the position of the cell.
struct LocatedError : Error {
  LocatedError(const std::string& text, TorchPosition position_)
      : Error(text), position(position_) {}
  TorchPosition position;
};

// Returns an error such as "file.csv:2:5: row 2 (rank 1), cell 5: message".
LocatedError located(const std::string& file, TorchPosition position, std::string_view message);

struct PlacedAction {
  TorchAction action;
  std::uint32_t column = 0;  // From 0. The row is the one of its rank.
};
using PlacedRows = std::vector<std::vector<PlacedAction>>;

// Finds the rank of each stage from the passes of each row. Throws LocatedError or Error unless
// every stage from 0 on is on one rank and all ranks have the same number of stages.
Routes find_routes(const PlacedRows& rows, const std::string& file);

// Checks that every stage runs F and then B, or I and W, once for every microbatch. Returns the
// number of microbatches. Throws Error with the position of the fault.
std::uint32_t check_passes(const PlacedRows& rows, const Routes& routes, const std::string& file);

// Checks that every tensor that crosses ranks has one SEND after the pass that makes it and one
// RECV before the pass that needs it, and that there are no other transfers. Requires checked
// passes. Throws Error with the position of the fault.
void check_transfers(const PlacedRows& rows, const Routes& routes, std::uint32_t microbatches,
                     const std::string& file);

// A send and a receive that NCCL would match although they are of different tensors. NCCL's
// point-to-point transfers have no tags: the n-th send of one rank to another goes into the n-th
// receive posted there for that rank.
struct Swap {
  std::uint32_t sender = 0;    // Rank.
  std::uint32_t receiver = 0;  // Rank.
  std::size_t turn = 0;        // Number of earlier transfers from the sender to the receiver.
  std::size_t send_index = 0;  // Position in the sender's row.
  std::size_t receive_index = 0;
  TorchAction send;
  TorchAction receive;
};

// Describes a swap: "NCCL would swap tensors: receive 2 of rank 0 from rank 1 is .., and send 2 ..
// is .."
std::string describe(const Swap& swap);

// Returns the first receive, by rank and position in the row, that would get the wrong tensor.
// Requires complete transfers, as read_torch_csv and lower make them.
std::optional<Swap> first_swap(const TorchRows& rows, const Routes& routes);

// Throws Error, with the position in the file, if NCCL would swap tensors.
void check_pair_order(const TorchRows& rows, const Routes& routes, const std::string& file);

}  // namespace pipewright::schedules
