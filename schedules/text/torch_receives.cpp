#include "schedules/text/torch_receives.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

class ReceiveEngine {
 public:
  ReceiveEngine(const TorchRows& rows, const Schedule& schedule, const PassTimes& times, double hop,
                ReceiveQueue kind)
      : rows_(rows),
        schedule_(schedule),
        times_(times),
        hop_(hop),
        kind_(kind),
        inputs_(2 * std::size_t{schedule.stages()} * schedule.microbatches),
        ranks_(rows.size()) {}

  ReceiveTiming run() {
    for (auto rank = static_cast<std::uint32_t>(ranks_.size()); rank-- > 0;)
      runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const std::uint32_t rank = runnable_.back();
      runnable_.pop_back();
      while (ranks_[rank].at < rows_[rank].size() && step(rank)) {
      }
    }
    std::vector<BlockedRank> blocked;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].at < rows_[rank].size()) blocked.push_back(ranks_[rank].blocked);
    if (!blocked.empty()) throw ReceiveDeadlock(schedule_, std::move(blocked));
    std::stable_sort(result_.waits.begin(), result_.waits.end(),
                     [](const ReceiveWait& a, const ReceiveWait& b) { return a.rank < b.rank; });
    return std::move(result_);
  }

 private:
  // State of the transfer that brings a pass its input, in seconds. There is one for each stage,
  // microbatch and direction.
  struct Input {
    double sent = -1;            // Time at which it was sent; negative if not yet.
    double posted = -1;          // Time at which its receive was posted.
    double done = -1;            // Time from which it may be used.
    std::uint32_t position = 0;  // Of the receive in its queue.
    TorchAction behind;          // The receive that determined `done`.
  };
  struct Queue {
    std::vector<TorchAction> posted;
    std::size_t resolved = 0;  // Number of completed receives.
    double last_done = 0;
    TorchAction last_late;  // The receive that determined last_done.
  };
  struct Rank {
    std::size_t at = 0;
    double time = 0;
    std::map<std::uint32_t, Queue> queues;  // By sending rank, or a single queue.
    const Input* waits_for = nullptr;
    BlockedRank blocked;
  };

  Input& input(bool activation, std::uint32_t stage, std::uint32_t microbatch) {
    return inputs_[(2 * std::size_t{stage} + (activation ? 1 : 0)) * schedule_.microbatches +
                   microbatch];
  }
  Input& received_by(const TorchAction& receive) {
    return input(receive.op == TorchOp::recv_f, receive.stage, receive.microbatch);
  }
  Queue& queue_of(std::uint32_t rank, const TorchAction& receive) {
    const std::uint32_t sender = schedule_.routes.device(counterpart(receive).stage, 0);
    return ranks_[rank].queues[kind_ == ReceiveQueue::of_pair ? sender : 0];
  }

  // Runs the rank's next cell. Returns false if it must wait for another rank.
  bool step(std::uint32_t index) {
    Rank& rank = ranks_[index];
    const TorchAction& action = rows_[index][rank.at];
    if (is_pass(action.op)) return run_pass(index);
    if (is_receive(action.op)) {
      Queue& queue = queue_of(index, action);
      Input& tensor = received_by(action);
      tensor.posted = rank.time;
      tensor.position = static_cast<std::uint32_t>(queue.posted.size());
      queue.posted.push_back(action);
    } else if (is_send(action.op)) {
      const TorchAction receive = counterpart(action);
      Input& tensor = received_by(receive);
      tensor.sent = rank.time;
      const std::uint32_t receiver = schedule_.routes.device(receive.stage, 0);
      if (ranks_[receiver].waits_for == &tensor) runnable_.push_back(receiver);
    }
    ++rank.at;
    return true;
  }

  bool run_pass(std::uint32_t index) {
    Rank& rank = ranks_[index];
    const std::size_t count = rows_[index][rank.at].fused ? 2 : 1;
    const TorchAction* const cell = &rows_[index][rank.at];
    double start = rank.time;
    for (std::size_t i = 0; i < count; ++i)
      if (!arrived(index, cell[i], start)) return false;
    for (std::size_t i = 0; i < count; ++i) note_wait(index, rank.at + i);
    rank.time = start + (count == 2 ? times_(to_pass(cell[0]), to_pass(cell[1]))
                                    : times_(to_pass(cell[0])));
    for (std::size_t i = 0; i < count; ++i) hand_on(cell[i], rank.time);
    rank.at += count;
    result_.makespan = std::max(result_.makespan, rank.time);
    return true;
  }

  // Raises `start` to the time at which the input of the pass is available. Returns false if that
  // time is not known yet.
  bool arrived(std::uint32_t index, const TorchAction& action, double& start) {
    Rank& rank = ranks_[index];
    const bool activation = action.op == TorchOp::forward;
    if (action.op == TorchOp::weight_grad || (activation && action.stage == 0) ||
        (!activation && action.stage + 1U == schedule_.stages()))
      return true;  // The input is made earlier in the same row, or is the data itself.
    Input& needed = input(activation, action.stage, action.microbatch);
    const auto receive = receive_for(action, schedule_.routes);
    rank.blocked = {.rank = index, .index = rank.at, .action = action, .receive = receive};
    if (receive && needed.done < 0 && !resolve(rank, queue_of(index, *receive), needed))
      return false;
    if (needed.done < 0) return false;
    start = std::max(start, needed.done);
    return true;
  }

  // Computes when the receives of a queue complete, up to that of `needed`. Returns false if a
  // tensor has not been sent yet.
  bool resolve(Rank& rank, Queue& queue, Input& needed) {
    if (kind_ == ReceiveQueue::none) {
      rank.waits_for = &needed;
      if (needed.sent < 0) return false;
      needed.done = needed.sent + hop_;
      return true;
    }
    for (; queue.resolved <= needed.position; ++queue.resolved) {
      const TorchAction& receive = queue.posted[queue.resolved];
      Input& tensor = received_by(receive);
      if (tensor.sent < 0) {
        rank.waits_for = &tensor;
        if (&tensor != &needed) rank.blocked.behind = receive;
        return false;
      }
      const double arrival = std::max(tensor.sent, tensor.posted) + hop_;
      if (queue.resolved == 0 || arrival >= queue.last_done) {
        queue.last_done = arrival;
        queue.last_late = receive;
      }
      tensor.done = queue.last_done;
      tensor.behind = queue.last_late;
    }
    return true;
  }

  void note_wait(std::uint32_t index, std::size_t at) {
    const TorchAction& action = rows_[index][at];
    if (kind_ == ReceiveQueue::none || !receive_for(action, schedule_.routes)) return;
    const Input& tensor = input(action.op == TorchOp::forward, action.stage, action.microbatch);
    const double wait = tensor.done - std::max(ranks_[index].time, tensor.sent + hop_);
    // Rounding does not count as a wait.
    if (wait > 1e-9 * tensor.done)
      result_.waits.push_back({index, at, action, tensor.behind, wait});
  }

  // Makes the output available to the next stage if that is on the same rank; otherwise a later
  // send transfers it.
  void hand_on(const TorchAction& action, double end) {
    if (send_after(action, schedule_.routes)) return;
    if (action.op == TorchOp::forward && action.stage + 1U < schedule_.stages())
      input(true, action.stage + 1U, action.microbatch).done = end;
    if (is_gradient(action.op) && action.stage > 0)
      input(false, action.stage - 1U, action.microbatch).done = end;
  }

  const TorchRows& rows_;
  const Schedule& schedule_;
  const PassTimes& times_;
  double hop_;
  ReceiveQueue kind_;
  std::vector<Input> inputs_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> runnable_;
  ReceiveTiming result_;
};

std::string message(const Schedule& schedule, const std::vector<BlockedRank>& blocked) {
  std::string text = fmt::format("{}: deadlock: {} of {} ranks wait forever", schedule.name,
                                 blocked.size(), schedule.devices);
  for (const BlockedRank& waiting : blocked) {
    text += fmt::format("\n  rank {} at action {}, {}, waits for ", waiting.rank, waiting.index + 1,
                        to_string(waiting.action));
    if (!waiting.receive) {
      text += "a pass of its own that comes later";
      continue;
    }
    const TorchAction& first = waiting.behind ? *waiting.behind : *waiting.receive;
    text += to_string(*waiting.receive);
    if (waiting.behind)
      text += fmt::format(", which is queued behind {}", to_string(*waiting.behind));
    const TorchAction send = counterpart(first);
    text += fmt::format("; rank {} does not reach {}", schedule.routes.device(send.stage, 0),
                        to_string(send));
  }
  return text;
}

}  // namespace

ReceiveDeadlock::ReceiveDeadlock(const Schedule& schedule, std::vector<BlockedRank> blocked)
    : Error(message(schedule, blocked)), blocked_(std::move(blocked)) {}

ReceiveTiming time_receives(const TorchRows& rows, const Schedule& schedule, const PassTimes& times,
                            double hop, ReceiveQueue queue) {
  return ReceiveEngine(rows, schedule, times, hop, queue).run();
}

}  // namespace pipewright::schedules
