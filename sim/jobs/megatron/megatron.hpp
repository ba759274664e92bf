#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"

// Megatron-LM's arguments (megatron/training/arguments.py and the configurations that it makes
// arguments of), which NeMo, Megatron-Bridge and others use by the same names.
namespace pipewright::jobs::megatron {

// All flags that are read or written, by their names with _ for -.
std::span<const Flag> flags();

// Whether a flag changes nothing that is predicted: files, logs, learning rates, checkpoints.
bool has_no_effect(const std::string& name);

// Whether a flag is one of Megatron-LM's that are known here.
bool knows(const std::string& name);

// Settings by Megatron-LM's names as a scenario. Throws Error for what Megatron-LM refuses.
Job read(Request request);

// Parts of it (model.cpp, schedule.cpp, training.cpp), each a few settings at a time.
void read_model(Draft& draft);
void read_parallel(Draft& draft);
void read_schedule(Draft& draft);
void read_training(Draft& draft);

// Whether what is left out is as Megatron-LM's arguments have it. Recipes of NeMo,
// Megatron-Bridge and MLPerf have defaults of their own.
bool has_argument_defaults(const Draft& draft);

}  // namespace pipewright::jobs::megatron
