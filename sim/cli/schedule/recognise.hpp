#pragma once

#include <string>
#include <vector>

#include "schedules/schedule.hpp"

namespace pipewright::cli {

// Notes on a schedule from a file of PyTorch, one sentence each: the schedule of the catalog with
// the same order, whether it is Megatron-LM's variant with one more forward ahead, and that PyTorch
// runs the two passes of a pair one after the other.
std::vector<std::string> notes_on(const schedules::Schedule& schedule);

}  // namespace pipewright::cli
