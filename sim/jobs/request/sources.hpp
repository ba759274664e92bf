#pragma once

#include <string>
#include <string_view>

// Files of jobs.
namespace pipewright::jobs {

struct Source {
  std::string name;  // its path
  std::string text;
};

// Throws Error for what is no file, or is larger than any job.
Source read_source(const std::string& file);

// The GPU that a name has in it, as in "config_DGXH100_64x8": "h100"; empty if there is none.
std::string gpu_in(std::string_view text);

}  // namespace pipewright::jobs
