#pragma once

#include <string>
#include <string_view>

#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

// The schedule files of torch.distributed.pipelining: CSV, a row per rank, cells such as 0F0 or
// 3B12 (stage, type, microbatch) and (0F7;7B3)OVERLAP_F_B for a fused pair.
namespace pipewright::schedules {

enum class TorchForm : std::uint8_t {
  compute_only,   // Passes, REDUCE_GRAD, and empty cells as padding.
  compute_comms,  // Also transfers and sharding of weights, but no empty cells.
};

struct TorchFile {
  TorchForm form = TorchForm::compute_only;
  Schedule schedule;  // The passes, named like the file without its extension.
  TorchRows rows;     // All actions; empty for compute_only.
};

inline constexpr std::size_t max_torch_bytes = 256U << 20U;  // Size limit of a file.

// Reads a schedule file with or without transfers. Unlike PyTorch, it rejects text after an action
// and missing numbers. A rank has the stages whose passes are in its row. `file` is the name in
// messages. Throws Error, with row and column, unless every stage is on one rank and runs F and
// then B, or I and later W, once for each microbatch. In compute_comms, every tensor that crosses
// ranks must be sent after the pass that makes it and received before the pass that needs it.
// Deadlocks are not detected here but by torch_receives.hpp and the engines.
TorchFile read_torch_csv(std::string_view text, const std::string& file, bool legacy = false);

// Returns the text of a compute_only file (passes without transfers), with CRLF line ends. Throws
// Error if the format cannot express the schedule.
std::string to_torch_csv(const Schedule& schedule);

// Returns the passes of each rank as actions, to which the lowering adds transfers. Throws Error if
// the format cannot express the schedule.
TorchRows torch_passes(const Schedule& schedule);

// Returns the text of a compute_comms file (passes and transfers).
std::string to_torch_csv(const TorchRows& rows);

}  // namespace pipewright::schedules
