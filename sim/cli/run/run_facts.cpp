#include "sim/cli/run/run_facts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::cli {
namespace {

constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};
constexpr std::array<std::string_view, 4> partition_names{"even", "ends_less", "by_cost", "listed"};

// The types of the pipeline's devices, in the order in which they come.
std::string gpu_names(const config::Scenario& scenario, const evaluation::Hardware& hardware) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const config::Gpu& gpu : hardware.gpus) add(gpu.name);
  if (names.empty() && scenario.gpu) add(scenario.gpu->name);
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace

analysis::JobInfo job_info(const config::Scenario& scenario, const evaluation::Hardware& hardware) {
  const config::Parallel& parallel = scenario.parallel;
  analysis::JobInfo job{.gpu = gpu_names(scenario, hardware),
                        .tp = parallel.tp.value,
                        .cp = parallel.cp.value,
                        .ep = parallel.ep.value,
                        .dp = parallel.dp.value,
                        .pp = parallel.pp.value,
                        .sequence_parallel = parallel.sequence,
                        .zero = parallel.zero,
                        .symmetric = scenario.symmetric};
  if (!scenario.model) return job;
  const config::Model& model = scenario.model->value;
  const config::Training& training = scenario.training;
  job.model = model.name.empty() ? "a model without a name" : model.name;
  job.global_batch =
      std::uint64_t{scenario.microbatches.value} * parallel.dp.value * training.microbatch_size;
  job.microbatch_size = training.microbatch_size;
  job.sequence = training.sequence.value_or(model.sequence);
  job.recompute = recompute_names.at(static_cast<std::size_t>(training.recompute));
  job.partition = partition_names.at(static_cast<std::size_t>(scenario.partition.rule));
  return job;
}

void note_impossible_speed(const std::vector<analysis::Summary>& runs) {
  for (const analysis::Summary& run : runs)
    if (run.mfu.value_or(0) > 1)
      fmt::print(stderr,
                 "pipewright: {}: an MFU of {:.4g} % is more than the GPUs can do; the times of "
                 "passes that are given are too short for this model\n",
                 run.run.schedule, 100 * *run.mfu);
}

}  // namespace pipewright::cli
