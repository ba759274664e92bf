#pragma once

#include <string>

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads jobs of Hugging Face's Trainer: data-parallel training with DeepSpeed's ZeRO or PyTorch's
// FSDP, as LLaMA-Factory and ms-swift start it.
namespace pipewright::jobs::trainer {

// True for a YAML configuration of LLaMA-Factory.
bool recognise(const SourceText& file);

// Reads a configuration of LLaMA-Factory. A script among the files gives the number of GPUs, and a
// JSON of DeepSpeed the level of ZeRO.
Job read_job(const JobInput& input);

// Recognises and reads a script that starts a program with the Trainer's arguments. DeepSpeed's
// JSON is another file of the job.
bool starts_program(const SourceText& file);
Job read_program(const JobInput& input);

// Translates settings with the names of the Trainer's arguments into a scenario. Throws
// config::Error for adapters and for training other than on given texts.
Job read(Request request);

// Adds the settings of DeepSpeed's JSON, except for values "auto", which the Trainer fills in.
void add_json(const Source& source, Request& request);

// Adds the settings of DeepSpeed's JSON that the setting `deepspeed` names, as in "ds_z3.json" and
// "zero3". The file is looked for beside the file of the setting and in the folders above.
void add_deepspeed(Request& request);

SettingNames setting_names();

}  // namespace pipewright::jobs::trainer
