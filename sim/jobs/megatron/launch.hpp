#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/shell/script.hpp"

// Training commands in scripts.
namespace pipewright::jobs {

// Interprets scripts in their order, with the variables of the command line.
Script run_scripts(std::span<const Source> sources, const JobWords& words);

// Flags and number of GPUs of the training that scripts start, with Megatron-LM or DeepSpeed.
Request read_launch(const Script& script, const std::string& name);

// Settings of the words of a command: "--tp-size 8 --bf16".
std::vector<Setting> settings_of(std::span<const Word> words);

// Sets the number of GPUs by the options of a launcher: torchrun --nnodes 2 --nproc_per_node 8.
void count_gpus(std::span<const Word> words, Request& request);

}  // namespace pipewright::jobs
