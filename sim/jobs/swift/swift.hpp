#pragma once

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads scripts of ms-swift: `megatron sft` and `megatron pt`, which run Megatron-Core, and `swift
// sft` and `swift pt`, which run Hugging Face's Trainer.
namespace pipewright::jobs::swift {

bool recognise(const SourceText& file);

Job read_job(const JobInput& input);

}  // namespace pipewright::jobs::swift
