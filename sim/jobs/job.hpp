#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/jobs/request/job.hpp"

namespace pipewright::jobs {

// What files are of, by what they hold; none of scenarios of this program and of what is no job.
std::optional<Framework> recognise(const std::string& file);

// Reads the files as one job. Throws config::Error, which says what the framework would refuse.
Job import_job(std::span<const std::string> files, const JobWords& words = {});

// The scenario with a comment at each key, and what was left out and assumed above.
std::string commented_yaml(const Job& job);

}  // namespace pipewright::jobs
