#include "schedules/text/torch_lowering.hpp"

#include <algorithm>

#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_receives.hpp"
#include "schedules/unshard.hpp"

namespace pipewright::schedules {

std::vector<TorchAction> add_unshard_reshard(const std::vector<TorchAction>& passes) {
  std::vector<Pass> order;
  for (const TorchAction& pass : passes) order.push_back(to_pass(pass));
  const UnshardPlan plan = plan_unshards(order, torch_unsharded_stages);
  std::vector<TorchAction> result;
  auto step = plan.begin();
  for (std::size_t position = 0; position <= passes.size(); ++position) {
    if (step != plan.end() && step->position == position) {
      for (const std::uint16_t stage : step->reshard) result.push_back({TorchOp::reshard, stage});
      for (const std::uint16_t stage : step->unshard) result.push_back({TorchOp::unshard, stage});
      ++step;
    }
    if (position < passes.size()) result.push_back(passes[position]);
  }
  return result;
}

std::vector<TorchAction> add_reduce_grad(const std::vector<TorchAction>& actions,
                                         std::uint32_t microbatches) {
  std::vector<std::uint32_t> gradients;  // By stage.
  std::vector<TorchAction> result;
  for (const TorchAction& action : actions) {
    result.push_back(action);
    if (action.op != TorchOp::backward && action.op != TorchOp::weight_grad) continue;
    if (action.stage >= gradients.size()) gradients.resize(action.stage + 1U);
    if (++gradients[action.stage] == microbatches)
      result.push_back({TorchOp::reduce_grad, action.stage});
  }
  return result;
}

TorchRows receive_before_pass(const TorchRows& rows, const Routes& routes) {
  TorchRows result;
  for (const std::vector<TorchAction>& row : rows) {
    std::vector<TorchAction>& deferred = result.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (is_receive(row[i].op)) continue;
      const bool second_of_pair = i > 0 && row[i - 1].fused;
      if (!second_of_pair)
        for (std::size_t k = i; k <= i + (row[i].fused ? 1 : 0); ++k)
          if (const auto receive = receive_for(row[k], routes)) deferred.push_back(*receive);
      deferred.push_back(row[i]);
    }
  }
  return result;
}

TorchRows defer_receives(const TorchRows& rows, const Routes& routes) {
  TorchRows result;
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    const std::vector<TorchAction>& row = rows[rank];
    std::vector<TorchAction> waiting;  // Receives without a position yet, in the order of posting.
    std::vector<TorchAction>& deferred = result.emplace_back();
    const auto place_where = [&](const auto& is_due) {
      for (const TorchAction& receive : waiting)
        if (is_due(receive)) deferred.push_back(receive);
      std::erase_if(waiting, is_due);
    };
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (is_receive(row[i].op)) {
        waiting.push_back(row[i]);
        continue;
      }
      if (is_send(row[i].op)) {
        const std::uint32_t peer = routes.device(counterpart(row[i]).stage, 0);
        if (rank < peer)
          place_where([&](const TorchAction& receive) {
            return routes.device(counterpart(receive).stage, 0) == peer;
          });
      }
      const bool second_of_pair = i > 0 && row[i - 1].fused;
      if (!second_of_pair)
        for (std::size_t k = i; k <= i + (row[i].fused ? 1 : 0); ++k)
          if (const auto needed = receive_for(row[k], routes))
            place_where([&](const TorchAction& receive) { return receive == *needed; });
      deferred.push_back(row[i]);
    }
  }
  return result;
}

TorchRows lower(const Schedule& schedule, Receives receives) {
  TorchRows rows = torch_passes(schedule);
  for (std::vector<TorchAction>& row : rows)
    row = add_reduce_grad(add_unshard_reshard(row), schedule.microbatches);
  rows = add_transfers(rows, schedule);
  switch (receives) {
    case Receives::before_pass:
      return receive_before_pass(rows, schedule.routes);
    case Receives::deferred:
      return defer_receives(rows, schedule.routes);
    case Receives::at_send:
      break;
  }
  return rows;
}
namespace {

// Adds sends and receives to the passes of all ranks together; each rank has a next action.
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
  // Returns the pass in the rank's next cell whose input has not been sent yet, or null if it can
  // run.
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

  // Returns how many passes of the rank come before the action, which is its position in the
  // schedule.
  std::size_t passes_before(std::uint32_t rank, const TorchAction& action) const {
    return static_cast<std::size_t>(std::count_if(
        rows_[rank].data(), &action, [](const TorchAction& before) { return is_pass(before.op); }));
  }

  // Appends the rank's next cell to the result, with the sends of its outputs and the receives of
  // these on other ranks.
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

  // Returns false for passes whose input is earlier in the same row: W, and gradients on the last
  // stage.
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
