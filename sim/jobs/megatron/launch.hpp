#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/shell/script.hpp"

// Finds the training command in shell scripts, with its flags and its number of GPUs.
namespace pipewright::jobs {

// Interprets the scripts one after the other, with the variables from the command line.
Script run_scripts(std::span<const Source> sources, const JobWords& words);

// Test for the names of a framework's flags.
using FlagTest = bool (*)(const std::string& name);

// Flags and number of GPUs of the training command in the scripts: of the command that has the most
// flags of a framework.
Request read_launch(const Script& script, const std::string& name,
                    FlagTest is_known_flag = megatron::is_known_flag);

// The words of that command. If no command has any of the flags, those of the variables with flags.
std::vector<Word> training_command(const Script& script,
                                   FlagTest is_known_flag = megatron::is_known_flag);

// Report the constructs of a script that the reader could not follow: in a request, or as notes.
void note_unfollowed(const Script& script, Request& request);
std::vector<Note> notes_of(const Script& script, FlagTest is_known_flag = megatron::is_known_flag);

// Settings for the flags among the words of a command, such as "--tp-size 8 --bf16".
std::vector<Setting> settings_of(std::span<const Word> words);

// Sets the number of GPUs by the options of a launcher: torchrun --nnodes 2 --nproc_per_node 8.
void count_gpus(std::span<const Word> words, Request& request);

}  // namespace pipewright::jobs
