#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/pass.hpp"
#include "schedules/routes.hpp"

namespace pipewright::schedules {

// What a cell of a schedule file of torch.distributed.pipelining can say. The first four are
// passes, in the order of PassKind. A send names the stage that sends, a receive the one that
// receives; F carries activations to the next stage, B gradients to the one before.
enum class TorchOp : std::uint8_t {
  forward,
  input_grad,
  weight_grad,
  backward,
  send_f,
  recv_f,
  send_b,
  recv_b,
  unshard,
  reshard,
  reduce_grad,
};

struct TorchAction {
  TorchOp op = TorchOp::forward;
  std::uint16_t stage = 0;
  std::uint32_t microbatch = 0;  // 0 where the op takes none
  bool fused = false;            // OVERLAP_F_B with the action that follows

  friend bool operator==(const TorchAction&, const TorchAction&) = default;
};

using TorchRows = std::vector<std::vector<TorchAction>>;  // one per rank

inline bool is_pass(TorchOp op) { return op <= TorchOp::backward; }
// B and I both hand a gradient to the stage before.
inline bool is_gradient(TorchOp op) { return op == TorchOp::backward || op == TorchOp::input_grad; }
inline bool is_receive(TorchOp op) { return op == TorchOp::recv_f || op == TorchOp::recv_b; }
inline bool is_send(TorchOp op) { return op == TorchOp::send_f || op == TorchOp::send_b; }
inline bool is_transfer(TorchOp op) { return is_send(op) || is_receive(op); }
inline bool takes_microbatch(TorchOp op) { return op < TorchOp::unshard; }

Pass to_pass(const TorchAction& action);
TorchAction to_action(const Pass& pass);

// What answers a send is a receive of its neighbour, and the other way round.
TorchAction counterpart(const TorchAction& transfer);

// The receive that a pass waits for, and the send that it is followed by, if ranks are crossed.
std::optional<TorchAction> receive_for(const TorchAction& action, const Routes& routes);
std::optional<TorchAction> send_after(const TorchAction& action, const Routes& routes);

std::string to_string(const TorchAction& action);  // 3SEND_F1

// The actions of one cell that is not empty: one, or the two of (0F7;7B3)OVERLAP_F_B. Legacy cells
// are those of 2024: B is the input gradient, BW the full backward, and there is no I. Throws
// Error, which says what is right, but not where this is.
std::vector<TorchAction> parse_torch_cell(std::string_view text, bool legacy);

// A cell's text for a message: quoted, short, with bytes that do not print as \x1b.
std::string quoted(std::string_view text);

}  // namespace pipewright::schedules
