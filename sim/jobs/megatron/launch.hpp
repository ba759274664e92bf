#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/shell/script.hpp"

// What scripts start, as what it asks.
namespace pipewright::jobs {

// Scripts in their order, with the variables that the user gave.
Script run_scripts(std::span<const Source> sources, const JobWords& words);

// The flags of the training that scripts start, and how many GPUs they ask for. DeepSpeed's and
// Megatron-LM's are alike.
Request read_launch(const Script& script, const std::string& name);

// Settings of words such as "--tp-size 8 --bf16", up to the end.
std::vector<Setting> settings_of(std::span<const Word> words);

// GPUs by the words before a program's name: torchrun --nnodes 2 --nproc_per_node 8.
void count_gpus(std::span<const Word> words, Request& request);

}  // namespace pipewright::jobs
