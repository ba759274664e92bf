#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {

// Arguments that describe a job: its files, and variables of its scripts as VAR=VALUE.
struct JobFiles {
  std::vector<std::string> files;
  jobs::JobWords words;
};
// True for VAR=VALUE.
bool is_variable(const std::string& word);
// The file of a scenario of the library (platforms/scenarios) with this name; empty if there is
// none, or if the word is a file.
std::optional<std::string> scenario_of_library(const std::string& word);
JobFiles job_files(const std::vector<std::string>& words);

// Returns true if any file belongs to a job of a framework, such as a Megatron-LM script. Only
// recognizes the files, without importing the job.
bool is_job(const JobFiles& files);

// Imports the job that the files describe; empty if they are a scenario.
std::optional<jobs::Job> read_job(const JobFiles& files);

// Report on the import of a job: assumptions, missing keys, settings that are not modelled.
std::string job_report(const jobs::Job& job);

// Sets a key of the scenario of a job. A name or file for the key stack replaces the stack that the
// job runs on; keys of the stack that the job itself sets stay.
void set_key_of_job(config::Value& tree, std::string_view key, config::Value value);

// Prints on standard error how many settings of a job are used, have no effect, or are not
// modelled, and each of the last.
void print_settings(const jobs::Job& job);

// Throws config::Error if the scenario of a job lacks a key that a run needs, or has neither a
// cluster nor a GPU. The message lists the clusters of the library that fit.
void check_job(const jobs::Job& job, const config::Value& tree);

}  // namespace pipewright::cli
