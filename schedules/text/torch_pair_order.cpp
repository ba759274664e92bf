#include "schedules/text/torch_pair_order.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "schedules/text/torch_cells.hpp"

namespace pipewright::schedules {
namespace {

// The sends of one rank to another, as places in its row, and how many have found their receive.
struct Sent {
  std::vector<std::size_t> indices;
  std::size_t taken = 0;
};

// A fused pair is two actions and one cell.
TorchPlace place_of(const TorchRows& rows, std::uint32_t rank, std::size_t index) {
  const auto begin = rows[rank].begin();
  const auto pairs = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(index),
                                   [](const TorchAction& one) { return one.fused; });
  return {rank, static_cast<std::uint32_t>(index - static_cast<std::size_t>(pairs))};
}

}  // namespace

std::optional<Swap> first_swap(const TorchRows& rows, const Routes& routes) {
  const auto peer = [&](const TorchAction& transfer) {
    return routes.device(counterpart(transfer).stage, 0);
  };
  std::vector<std::map<std::uint32_t, Sent>> sent_to(rows.size());  // by receiver, then sender
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    for (std::size_t i = 0; i < rows[rank].size(); ++i)
      if (is_send(rows[rank][i].op)) sent_to[peer(rows[rank][i])][rank].indices.push_back(i);
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    for (std::size_t i = 0; i < rows[rank].size(); ++i) {
      const TorchAction& receive = rows[rank][i];
      if (!is_receive(receive.op)) continue;
      const std::uint32_t sender = peer(receive);
      Sent& sent = sent_to[rank][sender];
      const std::size_t turn = sent.taken++;
      const std::size_t send_index = sent.indices.at(turn);
      const TorchAction& send = rows[sender][send_index];
      if (counterpart(send) != receive)
        return Swap{sender, rank, turn, send_index, i, send, receive};
    }
  return std::nullopt;
}

void check_pair_order(const TorchRows& rows, const Routes& routes, const std::string& file) {
  const std::optional<Swap> swap = first_swap(rows, routes);
  if (!swap) return;
  const TorchPlace sent = place_of(rows, swap->sender, swap->send_index);
  throw located(
      file, place_of(rows, swap->receiver, swap->receive_index),
      fmt::format("{} is receive {} from rank {}, and send {} of rank {} to this rank is {} "
                  "({}:{}: row {} (rank {}), cell {}); NCCL matches them by order alone, so "
                  "tensors would be swapped; right would be {} here, or {} there",
                  to_string(swap->receive), swap->turn + 1, swap->sender, swap->turn + 1,
                  swap->sender, to_string(swap->send), sent.row + 1, sent.column + 1, sent.row + 1,
                  sent.row, sent.column + 1, to_string(counterpart(swap->send)),
                  to_string(counterpart(swap->receive))));
}

}  // namespace pipewright::schedules
