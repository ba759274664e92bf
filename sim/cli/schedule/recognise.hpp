#pragma once

#include <string>
#include <vector>

#include "schedules/schedule.hpp"

namespace pipewright::cli {

// What is to be known of a schedule from a file of PyTorch: which one of the catalog it is, whether
// it is one that Megatron-LM runs with one more forward ahead, and that PyTorch runs the two of a
// pair one after the other. A sentence each.
std::vector<std::string> notes_on(const schedules::Schedule& schedule);

}  // namespace pipewright::cli
