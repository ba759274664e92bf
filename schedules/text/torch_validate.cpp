#include "schedules/text/torch_validate.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "schedules/text/torch_cells.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

// How far a microbatch has come on a stage, and the cell that brought it there.
struct Progress {
  enum : std::uint8_t { none, forwarded, input_grad_done, done } state = none;
  std::uint32_t column = 0;
};

// What is wrong with an action at this point of a microbatch's life; null where nothing is, and the
// state is then moved on.
const char* advance(Progress& progress, const PlacedAction& placed) {
  const auto state = progress.state;
  switch (placed.action.op) {
    case TorchOp::forward:
      if (state != Progress::none) return "comes twice";
      progress.state = Progress::forwarded;
      break;
    case TorchOp::input_grad:
    case TorchOp::backward:
      if (state == Progress::none) return "comes before its forward";
      if (state != Progress::forwarded) return "comes after a backward of the same microbatch";
      progress.state =
          placed.action.op == TorchOp::backward ? Progress::done : Progress::input_grad_done;
      break;
    default:
      if (state == Progress::done)
        return "comes after B, which includes it (in files of 2024 B does not: --legacy)";
      if (state != Progress::input_grad_done) return "comes before its I";
      progress.state = Progress::done;
  }
  progress.column = placed.column;
  return nullptr;
}

void check_finished(const std::vector<Progress>& stage, std::uint32_t number, std::uint32_t rank,
                    const std::string& file) {
  constexpr std::string_view due[] = {"F", "B, or I and W,", "W"};
  for (std::size_t microbatch = 0; microbatch < stage.size(); ++microbatch) {
    const auto& [state, column] = stage[microbatch];
    if (state == Progress::done) continue;
    throw located(file, {rank, column},
                  fmt::format("this is the last of microbatch {} on stage {}, whose {} is missing",
                              microbatch, number, due[state]));
  }
}

}  // namespace

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
                      fmt::format("{} is of stage {}, which is on rank {} already (row {})",
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

  std::vector<std::vector<Progress>> progress;  // by stage and microbatch
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
      if (const char* const fault = advance(stage[action.microbatch], placed))
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

}  // namespace pipewright::schedules
