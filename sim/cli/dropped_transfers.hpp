#pragma once

#include <string>
#include <vector>

namespace pipewright::cli {

// Says on standard error, in one line, which of these schedules are files of PyTorch that place
// SEND and RECV: passes are run in their order, and transfers where the engine has them.
void note_dropped_transfers(const std::vector<std::string>& schedules);

}  // namespace pipewright::cli
