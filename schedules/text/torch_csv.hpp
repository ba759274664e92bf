#pragma once

#include <string>
#include <string_view>

#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

// The schedule files of torch.distributed.pipelining: CSV, a row per rank, cells such as 0F0 or
// 3B12 (stage, type, microbatch) and (0F7;7B3)OVERLAP_F_B for a fused pair.
namespace pipewright::schedules {

enum class TorchForm : std::uint8_t {
  compute_only,   // passes, REDUCE_GRAD, and empty cells, which only pad
  compute_comms,  // transfers and the sharding of weights too, and no empty cells
};

struct TorchFile {
  TorchForm form = TorchForm::compute_only;
  Schedule schedule;  // the passes alone, named as the file without its extension
  TorchRows rows;     // of compute_comms: every action
};

inline constexpr std::size_t most_torch_bytes = 256U << 20U;  // of a file

// Reads either form, strictly: PyTorch ignores what stands behind an action, and lets numbers miss.
// The stages of each rank are those of its row. `file` names the text in messages. Throws Error,
// with row and column, unless every stage is on one rank and runs each microbatch's F once and then
// B, or I and later W; and, of compute_comms, unless every tensor that crosses ranks is sent after
// the pass that makes it and received before the pass that needs it. That ranks may yet wait for
// one another for ever is for torch_receives.hpp and the engines to see.
TorchFile read_torch_csv(std::string_view text, const std::string& file, bool legacy = false);

// compute_only, lines ended by CRLF. Throws Error where the format cannot say what the schedule
// does.
std::string to_torch_csv(const Schedule& schedule);

// The cells of that; what the lowering starts from.
TorchRows torch_passes(const Schedule& schedule);

// compute_comms.
std::string to_torch_csv(const TorchRows& rows);

}  // namespace pipewright::schedules
