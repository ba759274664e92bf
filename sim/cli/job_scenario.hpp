#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/text/value.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {

// Words of a command line: files, and variables of scripts as VAR=VALUE.
struct JobFiles {
  std::vector<std::string> files;
  jobs::JobWords words;
};
JobFiles job_files(const std::vector<std::string>& words);

// The files are a job of a framework, not a scenario. Only looks at the files.
bool is_job(const JobFiles& files);

// Reads the job that the files describe; empty if they are a scenario.
std::optional<jobs::Job> read_job(const JobFiles& files);

// Report on the import of a job: assumptions, missing keys, flags that were not understood.
std::string job_report(const jobs::Job& job);

// Throws config::Error if the scenario of a job lacks a key that a run needs, or has neither a
// cluster nor a GPU. The message lists the clusters of the library that fit.
void check_job(const jobs::Job& job, const config::Value& tree);

}  // namespace pipewright::cli
