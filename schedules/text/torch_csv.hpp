#pragma once

#include <string>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// The compute-only form of torch.distributed.pipelining: a row per rank, cells such as 0F0 or 3B12
// (stage, pass, microbatch), comma-separated, lines ended by CRLF. Throws Error where the format
// cannot say what the schedule does.
std::string to_torch_csv(const Schedule& schedule);

}  // namespace pipewright::schedules
