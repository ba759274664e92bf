#include "sim/evaluation/work_and_memory.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/palette.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/workload/batch/batch.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::evaluation {
namespace {

// Name of the host with the device's smallest GPU, if that GPU limits the memory.
std::string limiting_host(const execution::Job& job, const Fullest& fullest_device) {
  if (job.capacity.empty() || job.capacity[fullest_device.device].bytes != fullest_device.capacity)
    return "";
  return smallest_host(job, fullest_device.device);
}

}  // namespace

double samples_per_microbatch(const config::Scenario& scenario) {
  if (scenario.samples_per_microbatch) return *scenario.samples_per_microbatch;
  return scenario.model ? scenario.training.microbatch_size : 0;
}

double tokens_per_microbatch(const config::Scenario& scenario) {
  if (scenario.tokens_per_microbatch) return *scenario.tokens_per_microbatch;
  if (!scenario.model) return 0;
  const std::uint32_t sequence = workload::sequence_of(scenario.model->value, scenario.training);
  if (scenario.training.lengths)
    return workload::batch_of(scenario.training, sequence)->real.tokens;
  return static_cast<double>(scenario.training.microbatch_size) * sequence;
}

analysis::IterationWork work_of(const config::Scenario& scenario,
                                const schedules::Schedule& schedule,
                                const workload::StageCosts& costs) {
  const config::Parallel& parallel = scenario.parallel;
  const auto gpus = static_cast<std::uint64_t>(parallel.gpus());
  const double microbatches = static_cast<double>(schedule.microbatches) * parallel.dp.value;
  return {.gpus = gpus,
          .samples = samples_per_microbatch(scenario) * microbatches,
          .tokens = tokens_per_microbatch(scenario) * microbatches,
          .model_flop = costs.model_flops_per_microbatch * microbatches,
          .full_attention_flop = costs.full_attention_flops_per_microbatch * microbatches,
          .peak_flops = costs.peak_flops * static_cast<double>(gpus)};
}

std::string smallest_host(const execution::Job& job, std::uint32_t device) {
  const cluster::Host* const host = job.capacity.empty() ? nullptr : job.capacity[device].host;
  return host == nullptr || host == job.host({0, device}) ? "" : cluster::name_of(host);
}

Fullest fullest(const execution::Job& job, const std::vector<std::uint64_t>& capacity) {
  Fullest result;
  double fill = -1;
  const std::uint32_t replicas = job.tokens_vary() ? job.replicas() : 1;
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      const execution::PeakMemory peak = execution::peak_memory(job, device, replica);
      // A device of unknown capacity is compared by its bytes instead of a ratio.
      const double device_fill = static_cast<double>(peak.bytes) /
                                 static_cast<double>(std::max<std::uint64_t>(1, capacity[device]));
      if (device_fill <= fill) continue;
      fill = device_fill;
      result = {device, replica, peak, capacity[device], ""};
    }
  result.host = limiting_host(job, result);
  return result;
}

std::string describe(const Fullest& fullest) {
  std::vector<std::size_t> categories(fullest.peak.at_peak.size());
  std::iota(categories.begin(), categories.end(), 0);
  std::ranges::stable_sort(categories, std::ranges::greater(),
                           [&](std::size_t category) { return fullest.peak.at_peak[category]; });
  const std::string host_text = fullest.host.empty() ? "" : fmt::format(" of {}", fullest.host);
  const std::string replica_text =
      fullest.replica == 0 ? "" : fmt::format(" of replica {}", fullest.replica);
  std::string text = fmt::format("device {}{}: {} of {}{}:", fullest.device, replica_text,
                                 analysis::format_bytes(fullest.peak.bytes),
                                 analysis::format_bytes(fullest.capacity), host_text);
  for (const std::size_t category : categories)
    if (const std::uint64_t bytes = fullest.peak.at_peak[category]; bytes > 0)
      text += fmt::format(" {} {},", analysis::memory_styles.at(category).words,
                          analysis::format_bytes(bytes));
  return fmt::format("{} {} too much", text,
                     analysis::format_bytes(fullest.peak.bytes - fullest.capacity));
}

}  // namespace pipewright::evaluation
