#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/sources.hpp"

namespace pipewright::jobs {
namespace {

Request read_request(Framework framework, const std::vector<Source>& sources,
                     const JobWords& words) {
  switch (framework) {
    default: {
      const Script script = run_scripts(sources, words);
      return read_launch(script, sources.back().name);
    }
  }
}

}  // namespace

std::optional<Framework> recognise(const std::string& file) {
  const Source source = read_source(file);
  if (source.text.find("--") != std::string::npos) return Framework::megatron;
  return std::nullopt;
}

Job import_job(std::span<const std::string> files, const JobWords& words) {
  std::vector<Source> sources;
  for (const std::string& file : files) sources.push_back(read_source(file));
  Request request = read_request(Framework::megatron, sources, words);
  if (words.gpus) {
    request.gpus = words.gpus;
    request.gpus_from = fmt::format("--gpus {}", *words.gpus);
    request.gpus_origin = {.source = "--gpus"};
  }
  std::string gpu;
  for (const std::string& file : files)
    if (gpu.empty()) gpu = gpu_in(std::filesystem::path(file).filename().string());
  Job job = megatron::read(std::move(request));
  if (job.gpu.empty()) job.gpu = gpu;
  return job;
}

}  // namespace pipewright::jobs
