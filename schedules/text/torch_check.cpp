#include "schedules/text/torch_check.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

// Progress of a microbatch on a stage: the last of its passes that was read, and the column of its
// cell.
struct ActionProgress {
  enum : std::uint8_t { none, forwarded, input_grad_done, done } state = none;
  std::uint32_t column = 0;
};

// Updates the progress of a microbatch by its next pass. Returns what is wrong if the pass is not
// allowed after the previous ones, else null.
const char* advance_action(ActionProgress& progress, const PlacedAction& placed) {
  const auto state = progress.state;
  switch (placed.action.op) {
    case TorchOp::forward:
      if (state != ActionProgress::none) return "comes twice";
      progress.state = ActionProgress::forwarded;
      break;
    case TorchOp::input_grad:
    case TorchOp::backward:
      if (state == ActionProgress::none) return "comes before its forward";
      if (state != ActionProgress::forwarded)
        return "comes after a backward of the same microbatch";
      progress.state = placed.action.op == TorchOp::backward ? ActionProgress::done
                                                             : ActionProgress::input_grad_done;
      break;
    default:
      if (state == ActionProgress::done)
        return "comes after B, which includes it (in files of 2024 B does not: --legacy)";
      if (state != ActionProgress::input_grad_done) return "comes before its I";
      progress.state = ActionProgress::done;
  }
  progress.column = placed.column;
  return nullptr;
}

void check_finished(const std::vector<ActionProgress>& stage, std::uint32_t number,
                    std::uint32_t rank, const std::string& file) {
  constexpr std::string_view due[] = {"F", "B, or I and W,", "W"};
  for (std::size_t microbatch = 0; microbatch < stage.size(); ++microbatch) {
    const auto& [state, column] = stage[microbatch];
    if (state == ActionProgress::done) continue;
    throw located(file, {rank, column},
                  fmt::format("this is the last of microbatch {} on stage {}, whose {} is missing",
                              microbatch, number, due[state]));
  }
}

}  // namespace

LocatedError located(const std::string& file, TorchPosition position, std::string_view message) {
  return {fmt::format("{}:{}:{}: row {} (rank {}), cell {}: {}", file, position.row + 1,
                      position.column + 1, position.row + 1, position.row, position.column + 1,
                      message),
          position};
}

Routes find_routes(const PlacedRows& rows, const std::string& file) {
  std::vector<std::uint32_t> rank_of;
  std::vector<std::uint32_t> held(rows.size());
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    for (const auto& [action, column] : rows[rank]) {
      if (!is_pass(action.op)) continue;
      if (action.stage >= rank_of.size()) rank_of.resize(action.stage + 1U, nowhere);
      std::uint32_t& holder = rank_of[action.stage];
      if (holder == nowhere) ++held[holder = rank];
      if (holder != rank)
        throw located(file, {rank, column},
                      fmt::format("{} belongs to stage {}, which is on rank {} already (row {})",
                                  to_string(action), action.stage, holder, holder + 1));
    }
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    if (held[rank] == 0)
      throw Error(
          fmt::format("{}:{}: row {} (rank {}) has no pass; a rank without stages has no "
                      "row",
                      file, rank + 1, rank + 1, rank));
  const auto gap = std::find(rank_of.begin(), rank_of.end(), nowhere);
  if (gap != rank_of.end())
    throw Error(
        fmt::format("{}: stage {} is on no rank, though there is a stage {}; stages count "
                    "from 0 without a gap",
                    file, gap - rank_of.begin(), rank_of.size() - 1));
  for (std::uint32_t rank = 1; rank < rows.size(); ++rank)
    if (held[rank] != held[0])
      throw Error(
          fmt::format("{}:{}: row {} (rank {}) has {} stages and row 1 has {}; only the "
                      "same number of stages on every rank is supported",
                      file, rank + 1, rank + 1, rank, held[rank], held[0]));
  return Routes({std::move(rank_of)});
}

std::uint32_t check_passes(const PlacedRows& rows, const Routes& routes, const std::string& file) {
  const std::uint32_t stages = routes.stages();
  std::vector<std::uint32_t> forwards(stages);
  for (const auto& row : rows)
    for (const auto& [action, column] : row)
      if (action.op == TorchOp::forward) ++forwards[action.stage];

  std::vector<std::vector<ActionProgress>> progress;  // By stage and microbatch.
  for (const std::uint32_t count : forwards) progress.emplace_back(count);
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank)
    for (const PlacedAction& placed : rows[rank]) {
      const TorchAction& action = placed.action;
      if (!is_pass(action.op)) continue;
      auto& stage = progress[action.stage];
      if (action.microbatch >= stage.size())
        throw located(
            file, {rank, placed.column},
            fmt::format("{}: stage {} has {} forwards, of microbatches that count from 0 "
                        "without a gap, so there is no microbatch {}",
                        to_string(action), action.stage, stage.size(), action.microbatch));
      if (const char* const fault = advance_action(stage[action.microbatch], placed))
        throw located(file, {rank, placed.column}, fmt::format("{} {}", to_string(action), fault));
    }
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const std::uint32_t rank = routes.device(stage, 0);
    check_finished(progress[stage], stage, rank, file);
    if (forwards[stage] != forwards[0])
      throw Error(
          fmt::format("{}:{}: row {} (rank {}) runs {} microbatches on stage {}, and row "
                      "{} runs {} on stage 0",
                      file, rank + 1, rank + 1, rank, forwards[stage], stage,
                      routes.device(0, 0) + 1, forwards[0]));
  }
  return forwards[0];
}
namespace {

// Records which actions have been read, with a bit for each stage, microbatch and type.
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
  // I and B share a bit, because both send a gradient.
  static std::uint8_t bit(TorchOp op) {
    const TorchOp shared_op = op == TorchOp::backward ? TorchOp::input_grad : op;
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(shared_op));
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
    return fmt::format("there is no stage {} it", up ? "after" : "before");
  const std::uint32_t neighbour = counterpart(action).stage;
  if (routes.device(neighbour, 0) == routes.device(action.stage, 0))
    return fmt::format("stage {} is on the same rank, so there is no transfer", neighbour);
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
      const auto fail = [&, at = TorchPosition{rank, placed.column}](std::string_view message) {
        throw located(file, at, fmt::format("{}: {}", to_string(action), message));
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
namespace {

// Sends of one rank to another, as positions in the sender's row, and how many of them have been
// matched with a receive.
struct Sent {
  std::vector<std::size_t> indices;
  std::size_t taken = 0;
};

// Returns the row and column of an action's cell. A fused pair is two actions in one cell.
TorchPosition position_of(const TorchRows& rows, std::uint32_t rank, std::size_t index) {
  const auto begin = rows[rank].begin();
  const auto pairs = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(index),
                                   [](const TorchAction& action) { return action.fused; });
  return {rank, static_cast<std::uint32_t>(index - static_cast<std::size_t>(pairs))};
}

}  // namespace

std::string describe(const Swap& swap) {
  return fmt::format(
      "NCCL would swap tensors: receive {0} of rank {1} from rank {2} is {3} (action {4}), and "
      "send {0} of rank {2} to rank {1} is {5} (action {6})",
      swap.turn + 1, swap.receiver, swap.sender, to_string(swap.receive), swap.receive_index + 1,
      to_string(swap.send), swap.send_index + 1);
}

std::optional<Swap> first_swap(const TorchRows& rows, const Routes& routes) {
  const auto peer = [&](const TorchAction& transfer) {
    return routes.device(counterpart(transfer).stage, 0);
  };
  std::vector<std::map<std::uint32_t, Sent>> sent_to(rows.size());  // By receiver, then sender.
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
  const TorchPosition sent = position_of(rows, swap->sender, swap->send_index);
  throw located(
      file, position_of(rows, swap->receiver, swap->receive_index),
      fmt::format("{} is receive {} from rank {}, and send {} of rank {} to this rank is {} "
                  "({}:{}: row {} (rank {}), cell {}); NCCL matches them by order alone, so "
                  "tensors would be swapped; right would be {} here, or {} there",
                  to_string(swap->receive), swap->turn + 1, swap->sender, swap->turn + 1,
                  swap->sender, to_string(swap->send), sent.row + 1, sent.column + 1, sent.row + 1,
                  sent.row, sent.column + 1, to_string(counterpart(swap->send)),
                  to_string(counterpart(swap->receive))));
}

}  // namespace pipewright::schedules
