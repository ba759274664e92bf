#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedules/families/catalog.hpp"
#include "support/jobs.hpp"
#include "support/random.hpp"

namespace pipewright::tests {

// Limits of the sizes that random_job() draws.
struct JobSpace {
  std::uint32_t gpus = 16;
  std::vector<std::uint32_t> zeros{0, 1, 2, 3};
  std::uint32_t max_microbatches = 12;
  std::uint32_t max_iterations = 1;
  bool tensor_parallel = true;
};

// Draws a window of at most `max_stages` gathered stages.
inline schedules::UnshardWindow random_window(Random& random, std::uint32_t max_stages) {
  const std::uint32_t resident = random.whole(1, max_stages);
  return {resident, random.whole(1, resident)};
}

// Draws a job: sizes of this schedule family and a layout that fits the GPUs. Returns null if the
// family does not support the sizes.
inline std::unique_ptr<HybridJob> random_job(const schedules::Entry& entry, Random& random,
                                             const JobSpace& space) {
  schedules::Parameters parameters{.devices = 1U << random.whole(0, 2),
                                   .microbatches = random.whole(1, space.max_microbatches),
                                   .iterations = random.whole(1, space.max_iterations)};
  if (random.flip()) parameters.microbatches *= 2;
  if (entry.takes(&schedules::Parameters::chunks)) parameters.chunks = random.whole(1, 3);
  if (entry.takes(&schedules::Parameters::fused)) parameters.fused = random.whole(0, 1);
  if (entry.takes(&schedules::Parameters::slices)) parameters.slices = random.whole(1, 2);
  if (entry.takes(&schedules::Parameters::recompute) && random.flip()) parameters.recompute = 1;
  Layout layout{
      .zero = space.zeros[random.whole(0, static_cast<std::uint32_t>(space.zeros.size()) - 1)],
      .replicas_together = random.flip()};
  std::uint32_t remaining = space.gpus / parameters.devices;
  if (space.tensor_parallel) {
    layout.tp = 1U << random.whole(0, 1);
    layout.cp = 1U << random.whole(0, 1);
    remaining /= layout.tp * layout.cp;
  }
  layout.dp = 1U << random.whole(0, static_cast<std::uint32_t>(std::log2(remaining)));
  layout.ep = layout.replicas_together && random.flip() ? layout.dp : 1;
  if (layout.ep == 1 && layout.dp % 2 == 0 && random.flip()) layout.replicate = 2;
  try {
    auto schedule = schedules::make_schedule(entry.name, parameters);
    auto job = std::make_unique<HybridJob>(std::move(schedule), layout);
    job->p2p = static_cast<schedules::P2p>(random.whole(0, 2));
    for (auto& times_by_stage : job->costs.times.of_stage)
      for (double& seconds : times_by_stage) seconds = random.real(2e-3, 10e-3);
    if (random.flip()) job->costs.times.overlap = random.real(0.7, 1);
    for (double& seconds : job->costs.optimizer_seconds) seconds = random.real(0, 5e-3);
    config::Communication& communication = job->communication();
    job->conditions.reshards = layout.zero < 3 || random.flip();
    job->conditions.by_layer = random.flip();
    communication.overlap_grad_reduce = random.flip();
    communication.overlap_param_gather = random.flip();
    communication.zero_gradients = static_cast<config::ZeroGradients>(random.whole(0, 1));
    communication.zero_weights = static_cast<config::ZeroWeights>(random.whole(0, 1));
    communication.global_norm = random.flip();
    communication.gradient_bytes = random.flip() ? 4 : 2;
    return job;
  } catch (const schedules::Error&) {
    return nullptr;
  } catch (const config::Error&) {
    return nullptr;
  }
}

// Calls `use` with `rounds` random jobs of each schedule in the catalog. Returns the number of
// calls.
inline int for_random_jobs(std::uint32_t seed, int rounds, const JobSpace& space,
                           const std::function<void(HybridJob&, Random&)>& use) {
  Random random(seed);
  int count = 0;
  for (int round = 0; round < rounds; ++round)
    for (const schedules::Entry& entry : schedules::catalog()) {
      const auto job = random_job(entry, random, space);
      // Jobs with ZeRO-2 or more are left out if two devices hold the same stage, as in DualPipe,
      // because their gradients are not sharded.
      if (job == nullptr || (job->schedule.routes.count() > 1 && job->conditions.zero >= 2))
        continue;
      use(*job, random);
      ++count;
    }
  return count;
}

// Describes a job for messages of failed checks, such as "1f1b, 4 devices, ...".
inline std::string describe(const HybridJob& job) {
  const auto size = [&](workload::Group group) { return job.ranks.group_size(group); };
  const config::Communication& communication = job.conditions.communication;
  return job.schedule.name + ": " + std::to_string(job.schedule.devices) + " devices x" +
         std::to_string(job.schedule.chunks) + ", " + std::to_string(job.schedule.microbatches) +
         " microbatches x" + std::to_string(job.schedule.slices) + ", " +
         std::to_string(job.schedule.iterations) + " iterations, tp " +
         std::to_string(size(workload::Group::tp)) + ", cp " +
         std::to_string(size(workload::Group::cp)) + ", ep " +
         std::to_string(size(workload::Group::ep)) + ", " + std::to_string(job.ranks.replicas()) +
         " replicas, zero " + std::to_string(job.conditions.zero) + ", p2p " +
         std::to_string(static_cast<int>(job.p2p)) + ", overlaps " +
         std::to_string(communication.overlap_grad_reduce) +
         std::to_string(communication.overlap_param_gather) + ", norm " +
         std::to_string(communication.global_norm);
}

}  // namespace pipewright::tests
