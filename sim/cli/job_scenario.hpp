#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/text/value.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {

// Words of a command line: files, and VAR=VALUE for the variables of scripts.
struct JobFiles {
  std::vector<std::string> files;
  jobs::JobWords words;
};
JobFiles job_files(const std::vector<std::string>& words);

// The files are a job of a framework, not a scenario. Only looks at the files.
bool is_job(const JobFiles& files);

// Reads the files as a job; none if they are a scenario.
std::optional<jobs::Job> read_job(const JobFiles& files);

// What is said of a job besides the scenario: what was assumed, what is not understood.
std::string job_report(const jobs::Job& job);

// Throws config::Error where the scenario made of a job still lacks a key that a run needs, or has
// neither a cluster nor a GPU: the message lists the library's clusters that fit.
void check_job(const jobs::Job& job, const config::Value& tree);

}  // namespace pipewright::cli
