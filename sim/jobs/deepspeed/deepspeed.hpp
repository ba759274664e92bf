#pragma once

#include "sim/config/scenario.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"

// DeepSpeed's JSON, beside the flags of Megatron-DeepSpeed.
namespace pipewright::jobs::deepspeed {

// Adds what a JSON configuration says to a request, by Megatron-LM's names where these are alike.
void read_config(const Source& source, Request& request);

// Settles what only both together say: the batch by accumulation steps.
void settle(Request& request);

Launch write(const config::Scenario& scenario, std::uint64_t gpus_per_node);

}  // namespace pipewright::jobs::deepspeed
