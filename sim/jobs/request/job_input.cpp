#include "sim/jobs/request/job_input.hpp"

#include <filesystem>

#include <fmt/format.h>

namespace pipewright::jobs {
namespace {

std::string job_name(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = path.stem().string();
  return stem == "model_config" && path.has_parent_path() ? path.parent_path().filename().string()
                                                          : stem;
}

}  // namespace

Request empty_request(const JobInput& input) {
  return {.name = job_name(input.sources.back().name), .single = input.sources.size() == 1};
}

void apply_gpus(const JobWords& words, Request& request) {
  if (!words.gpus) return;
  request.gpus = words.gpus;
  request.gpus_from = fmt::format("--gpus {}", *words.gpus);
  request.gpus_origin = {.source = "--gpus"};
}

}  // namespace pipewright::jobs
