// The step of torch_lowering.hpp that adds SEND and RECV.
#include <algorithm>

#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_receives.hpp"

namespace pipewright::schedules {
namespace {

// All ranks side by side, each at its next action.
class Lowering {
 public:
  Lowering(const TorchRows& rows, const Schedule& schedule)
      : rows_(rows),
        schedule_(schedule),
        at_(rows.size()),
        result_(rows.size()),
        arrived_(2 * std::size_t{schedule.stages()} * schedule.microbatches) {}

  TorchRows run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t rank = 0; rank < rows_.size(); ++rank)
        if (at_[rank] < rows_[rank].size() && waiting(rank) == nullptr) {
          take(rank);
          progress = true;
        }
    }
    std::vector<BlockedRank> blocked;
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank)
      if (const TorchAction* const action = waiting(rank))
        blocked.push_back({.rank = rank,
                           .index = passes_before(rank, *action),
                           .action = *action,
                           .receive = receive_for(*action, schedule_.routes),
                           .behind = {}});
    if (!blocked.empty()) throw ReceiveDeadlock(schedule_, std::move(blocked));
    return std::move(result_);
  }

 private:
  // The pass of the rank's next cell whose input has not been sent, if there is one.
  const TorchAction* waiting(std::uint32_t rank) {
    const std::vector<TorchAction>& row = rows_[rank];
    if (at_[rank] == row.size()) return nullptr;
    const std::size_t last = at_[rank] + (row[at_[rank]].fused ? 1 : 0);
    for (std::size_t i = at_[rank]; i <= last; ++i)
      if (needs_input(row[i]) &&
          !arrived_[slot(row[i].op == TorchOp::forward, row[i].stage, row[i].microbatch)])
        return &row[i];
    return nullptr;
  }

  // Where it stands among the passes alone, as the schedule was given.
  std::size_t passes_before(std::uint32_t rank, const TorchAction& action) const {
    return static_cast<std::size_t>(std::count_if(
        rows_[rank].data(), &action, [](const TorchAction& before) { return is_pass(before.op); }));
  }

  // The next cell of the rank, with its sends, and their receives on the other ranks.
  void take(std::uint32_t rank) {
    const std::vector<TorchAction>& row = rows_[rank];
    const std::size_t end = at_[rank] + (row[at_[rank]].fused ? 2 : 1);
    const std::size_t begin = at_[rank];
    result_[rank].insert(result_[rank].end(), row.begin() + static_cast<std::ptrdiff_t>(begin),
                         row.begin() + static_cast<std::ptrdiff_t>(end));
    for (; at_[rank] < end; ++at_[rank]) {
      const TorchAction& action = row[at_[rank]];
      if (action.op == TorchOp::forward && action.stage + 1U < schedule_.stages())
        arrived_[slot(true, action.stage + 1U, action.microbatch)] = true;
      if (is_gradient(action.op) && action.stage > 0)
        arrived_[slot(false, action.stage - 1U, action.microbatch)] = true;
      if (const auto send = send_after(action, schedule_.routes)) {
        const TorchAction receive = counterpart(*send);
        result_[rank].push_back(*send);
        result_[schedule_.routes.device(receive.stage, 0)].push_back(receive);
      }
    }
  }

  // W's I, and the F behind which the last stage's gradient starts, stand earlier in the same row.
  bool needs_input(const TorchAction& action) const {
    return (action.op == TorchOp::forward && action.stage > 0) ||
           (is_gradient(action.op) && action.stage + 1U < schedule_.stages());
  }
  std::size_t slot(bool activation, std::uint32_t stage, std::uint32_t microbatch) const {
    return (2 * std::size_t{stage} + (activation ? 1 : 0)) * schedule_.microbatches + microbatch;
  }

  const TorchRows& rows_;
  const Schedule& schedule_;
  std::vector<std::size_t> at_;
  TorchRows result_;
  std::vector<bool> arrived_;
};

}  // namespace

TorchRows add_transfers(const TorchRows& rows, const Schedule& schedule) {
  return Lowering(rows, schedule).run();
}

}  // namespace pipewright::schedules
