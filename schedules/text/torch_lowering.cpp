#include "schedules/text/torch_lowering.hpp"

#include <algorithm>

#include "schedules/text/torch_csv.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::size_t lookahead = 3;  // stages: one forward, one backward, one being fetched

// The stages that the actions from each one on use next, nearest first. The two of a fused pair are
// counted together, which may make one more than the look-ahead.
std::vector<std::vector<std::uint16_t>> next_stages(const std::vector<TorchAction>& passes) {
  std::vector<std::vector<std::uint16_t>> result(passes.size());
  struct Use {
    std::uint16_t stage;
    std::size_t cell;  // the index of the pass, or of the first of its pair
  };
  std::vector<Use> uses;  // of every stage the next, nearest first
  const auto bring_forward = [&](std::uint16_t stage, std::size_t cell) {
    std::erase_if(uses, [&](const Use& use) { return use.stage == stage; });
    uses.insert(uses.begin(), {stage, cell});
  };
  for (std::size_t i = passes.size(); i-- > 0;) {
    const std::size_t cell = i > 0 && passes[i - 1].fused ? i - 1 : i;
    bring_forward(passes[i].stage, cell);
    if (cell != i) continue;
    std::size_t count = std::min(lookahead, uses.size());
    while (count < uses.size() && uses[count].cell == uses[count - 1].cell) ++count;
    for (std::size_t k = 0; k < count; ++k) result[i].push_back(uses[k].stage);
  }
  return result;
}

}  // namespace

std::optional<TorchAction> receive_for(const TorchAction& action, const Routes& routes) {
  const std::uint32_t stage = action.stage;
  const auto crosses = [&](std::uint32_t other) {
    return routes.device(stage, 0) != routes.device(other, 0);
  };
  if (action.op == TorchOp::forward && stage > 0 && crosses(stage - 1))
    return TorchAction{TorchOp::recv_f, action.stage, action.microbatch};
  if (is_gradient(action.op) && stage + 1 < routes.stages() && crosses(stage + 1))
    return TorchAction{TorchOp::recv_b, action.stage, action.microbatch};
  return std::nullopt;
}

std::optional<TorchAction> send_after(const TorchAction& action, const Routes& routes) {
  const std::uint32_t stage = action.stage;
  const auto crosses = [&](std::uint32_t other) {
    return routes.device(stage, 0) != routes.device(other, 0);
  };
  if (action.op == TorchOp::forward && stage + 1 < routes.stages() && crosses(stage + 1))
    return TorchAction{TorchOp::send_f, action.stage, action.microbatch};
  if (is_gradient(action.op) && stage > 0 && crosses(stage - 1))
    return TorchAction{TorchOp::send_b, action.stage, action.microbatch};
  return std::nullopt;
}

std::vector<TorchAction> add_unshard_reshard(const std::vector<TorchAction>& passes) {
  const auto next = next_stages(passes);
  std::vector<std::uint16_t> held;  // ascending
  std::vector<TorchAction> result;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (!next[i].empty()) {  // no second of a pair
      const auto is_next = [&](std::uint16_t stage) {
        return std::find(next[i].begin(), next[i].end(), stage) != next[i].end();
      };
      for (const std::uint16_t stage : held)
        if (!is_next(stage)) result.push_back({TorchOp::reshard, stage});
      for (const std::uint16_t stage : next[i])
        if (!std::binary_search(held.begin(), held.end(), stage))
          result.push_back({TorchOp::unshard, stage});
      held = next[i];
      std::sort(held.begin(), held.end());
    }
    result.push_back(passes[i]);
  }
  for (const std::uint16_t stage : held) result.push_back({TorchOp::reshard, stage});
  return result;
}

std::vector<TorchAction> add_reduce_grad(const std::vector<TorchAction>& actions,
                                         std::uint32_t microbatches) {
  std::vector<std::uint32_t> gradients;  // by stage
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

TorchRows defer_receives(const TorchRows& rows, const Routes& routes) {
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

TorchRows lower(const Schedule& schedule, Receives receives) {
  TorchRows rows = torch_passes(schedule);
  for (std::vector<TorchAction>& row : rows)
    row = add_reduce_grad(add_unshard_reshard(row), schedule.microbatches);
  rows = add_transfers(rows, schedule);
  return receives == Receives::at_send ? rows : defer_receives(rows, schedule.routes);
}

}  // namespace pipewright::schedules
