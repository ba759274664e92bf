#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// Files of one job, with the words of the command line that complete it.
struct JobInput {
  std::span<const Source> sources;
  const JobWords& words;
};

// Request without settings, with the job's name: that of its last file, or of the folder for a
// model_config.yaml.
Request empty_request(const JobInput& input);

// Sets the number of GPUs by --gpus, if that is given.
void apply_gpus(const JobWords& words, Request& request);

}  // namespace pipewright::jobs
