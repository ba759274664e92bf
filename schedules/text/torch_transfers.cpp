// The part of torch_validate.hpp that looks at transfers.
#include <fmt/format.h>

#include "schedules/text/torch_cells.hpp"
#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_validate.hpp"

namespace pipewright::schedules {
namespace {

// Which actions of each stage and microbatch have come, a bit each.
class Seen {
 public:
  Seen(std::uint32_t stages, std::uint32_t microbatches)
      : microbatches_(microbatches), bits_(std::size_t{stages} * microbatches) {}

  bool has(const TorchAction& action) const { return (bits_[at(action)] & bit(action.op)) != 0; }
  void add(const TorchAction& action) {
    bits_[at(action)] = static_cast<std::uint8_t>(bits_[at(action)] | bit(action.op));
  }

 private:
  std::size_t at(const TorchAction& action) const {
    return std::size_t{action.stage} * microbatches_ + action.microbatch;
  }
  // I and B are one here: what sends a gradient.
  static std::uint8_t bit(TorchOp op) {
    const TorchOp same = op == TorchOp::backward ? TorchOp::input_grad : op;
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(same));
  }

  std::uint32_t microbatches_;
  std::vector<std::uint8_t> bits_;
};

std::string fault_of_transfer(const TorchAction& action, const Routes& routes,
                              std::uint32_t microbatches, const Seen& seen) {
  if (action.microbatch >= microbatches)
    return fmt::format("there are {} microbatches, counted from 0", microbatches);
  const bool up = action.op == TorchOp::send_f || action.op == TorchOp::recv_b;
  if (up ? action.stage + 1U == routes.stages() : action.stage == 0)
    return fmt::format("there is no stage {} it", up ? "behind" : "before");
  const std::uint32_t neighbour = counterpart(action).stage;
  if (routes.device(neighbour, 0) == routes.device(action.stage, 0))
    return fmt::format("stage {} is on the same rank, so nothing is to be transferred", neighbour);
  if (seen.has(action)) return "comes twice";
  const TorchAction maker{action.op == TorchOp::send_f ? TorchOp::forward : TorchOp::input_grad,
                          action.stage, action.microbatch};
  if (is_send(action.op) && !seen.has(maker)) return "comes before the pass that makes the tensor";
  return {};
}

}  // namespace

void check_transfers(const PlacedRows& rows, const Routes& routes, std::uint32_t microbatches,
                     const std::string& file) {
  Seen seen(routes.stages(), microbatches);
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    for (const PlacedAction& placed : rows[rank]) {
      const TorchAction& action = placed.action;
      const auto fail = [&, at = TorchPlace{rank, placed.column}](std::string_view what) {
        throw located(file, at, fmt::format("{}: {}", to_string(action), what));
      };
      if (action.stage >= routes.stages() || routes.device(action.stage, 0) != rank)
        fail(fmt::format("stage {} is not on this rank", action.stage));
      if (is_transfer(action.op)) {
        const std::string fault = fault_of_transfer(action, routes, microbatches, seen);
        if (!fault.empty()) fail(fault);
      } else if (const auto receive = receive_for(action, routes); receive && !seen.has(*receive)) {
        fail(fmt::format("{} is missing before it", to_string(*receive)));
      }
      if (takes_microbatch(action.op)) seen.add(action);
    }
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    for (const auto& [action, column] : rows[rank])
      if (const auto send = send_after(action, routes); send && !seen.has(*send))
        throw located(
            file, {rank, column},
            fmt::format("{}: {} is missing after it", to_string(action), to_string(*send)));
}

}  // namespace pipewright::schedules
