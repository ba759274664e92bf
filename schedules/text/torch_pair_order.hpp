#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "schedules/routes.hpp"
#include "schedules/text/torch_action.hpp"

// NCCL's point-to-point transfers have no tags: the first send of one rank to another goes into the
// first receive posted there for that rank, whatever tensor either means.
namespace pipewright::schedules {

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

// The first receive, by rank and place in the row, that would get another tensor, if there is one.
// The transfers must be complete, as read_torch_csv and lower leave them.
std::optional<Swap> first_swap(const TorchRows& rows, const Routes& routes);

// Throws Error, located in the file that the rows are of, where there is one.
void check_pair_order(const TorchRows& rows, const Routes& routes, const std::string& file);

}  // namespace pipewright::schedules
