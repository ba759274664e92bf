#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/pass.hpp"
#include "schedules/routes.hpp"

namespace pipewright::schedules {

// Types of actions in a schedule file of torch.distributed.pipelining. The first four are passes,
// in the order of PassKind. A send names the sending stage, a receive the receiving stage. F
// transfers activations to the next stage, B gradients to the previous one.
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
  std::uint32_t microbatch = 0;  // 0 if the op has no microbatch.
  bool fused = false;            // OVERLAP_F_B with the action that follows.

  friend bool operator==(const TorchAction&, const TorchAction&) = default;
};

using TorchRows = std::vector<std::vector<TorchAction>>;  // One row per rank.

inline bool is_pass(TorchOp op) { return op <= TorchOp::backward; }
// Returns true for B and I, which send a gradient to the previous stage.
inline bool is_gradient(TorchOp op) { return op == TorchOp::backward || op == TorchOp::input_grad; }
inline bool is_receive(TorchOp op) { return op == TorchOp::recv_f || op == TorchOp::recv_b; }
inline bool is_send(TorchOp op) { return op == TorchOp::send_f || op == TorchOp::send_b; }
inline bool is_transfer(TorchOp op) { return is_send(op) || is_receive(op); }
inline bool takes_microbatch(TorchOp op) { return op < TorchOp::unshard; }

Pass to_pass(const TorchAction& action);
TorchAction to_action(const Pass& pass);

// Returns the receive that matches a send, or the send that matches a receive.
TorchAction counterpart(const TorchAction& transfer);

// Return the receive that must precede a pass, and the send that must follow it; nothing if the
// tensor stays on its rank.
std::optional<TorchAction> receive_for(const TorchAction& action, const Routes& routes);
std::optional<TorchAction> send_after(const TorchAction& action, const Routes& routes);

std::string to_string(const TorchAction& action);  // 3SEND_F1

// Parses a cell that is not empty. Returns one action, or the two of (0F7;7B3)OVERLAP_F_B. In
// legacy files of 2024, B is the input gradient, BW the full backward, and there is no I. Throws
// Error without the position of the cell.
std::vector<TorchAction> parse_torch_cell(std::string_view text, bool legacy);

// Returns the text of a cell in quotes for a message: shortened, with unprintable bytes as \x1b.
std::string quoted(std::string_view text);

}  // namespace pipewright::schedules
