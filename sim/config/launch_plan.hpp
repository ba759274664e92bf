#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"

namespace pipewright::config {

// Facts about the hardware and the planned run of a scenario that the launch of its job depends on.
// The defaults stand for a job whose cluster is unknown.
struct LaunchPlan {
  // Order of the passes; null if it is unknown.
  const schedules::Schedule* schedule = nullptr;
  // Layers of the model in each stage; empty if they are unknown.
  std::vector<std::uint32_t> layers = {};
  // GPUs of the machine that starts the processes: of a server, or of a tray of a rack.
  std::uint64_t gpus_per_host = 8;
  // GPUs of an NVLink domain; 0 if it is unknown.
  std::uint64_t gpus_per_domain = 0;
  // Ranks of the job in each NVLink domain that it uses; 0 if they are unknown, or if domains
  // have different numbers of them. The last domain may have fewer.
  std::uint64_t ranks_per_domain = 0;
  // Sentence about the memory that a job of the plan lacks; empty if it fits, or if this is
  // unknown.
  std::string lacks_memory = {};
  // Returns why the software of a stack of the library refuses the job, and what to do; empty if
  // the job starts. Without a function, the rules of stacks are not checked.
  std::function<std::string(std::string_view stack)> refusal = {};
};

}  // namespace pipewright::config
