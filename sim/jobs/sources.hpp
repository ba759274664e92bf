#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/jobs/request.hpp"
#include "sim/jobs/shell/script.hpp"

// Files of jobs, as what they ask.
namespace pipewright::jobs {

struct Source {
  std::string name;  // its path
  std::string text;
};

// Throws Error for what is no file, or is larger than any job.
Source read_source(const std::string& file);

// Scripts in their order, with the variables that the user gave.
Script run_scripts(std::span<const Source> sources, const JobWords& words);

// The flags of the training that scripts start, and how many GPUs they ask for. DeepSpeed's and
// Megatron-LM's are alike.
Request read_launch(const Script& script, const std::string& name);

// Settings of words such as "--tp-size 8 --bf16", up to the end.
std::vector<Setting> settings_of(std::span<const Word> words);

// GPUs by the words before a program's name: torchrun --nnodes 2 --nproc_per_node 8.
void count_gpus(std::span<const Word> words, Request& request);

// The GPU that a name has in it, as in "config_DGXH100_64x8": "h100"; empty if there is none.
std::string gpu_in(std::string_view text);

}  // namespace pipewright::jobs
