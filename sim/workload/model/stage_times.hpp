#pragma once

#include <cstdint>
#include <vector>

#include "schedules/routes.hpp"
#include "sim/workload/model/model_job.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Pass times of all stages: of the kernels alone, in total, and of the host's launches alone.
struct StagePassTimes {
  schedules::PassTimes kernels;   // kernels of the GPU
  schedules::PassTimes total;     // with the time that a GPU waits for its host
  schedules::PassTimes launches;  // launches of the host alone
};

// Computes the pass times of all stages. A stage with copies on several devices takes the time of
// the slowest. A slice of a microbatch has a fraction of its work, but equally many kernel
// launches.
StagePassTimes stage_pass_times(const ModelJob& job, const DeviceSettings& settings,
                                const schedules::Routes& routes, std::uint32_t slices,
                                const std::vector<StageParts>& stages,
                                const std::vector<StageSums>& seconds);

// Sets the pass times, and by how much a pass takes longer than its kernels because the GPU waits
// for its host. S and T have no times if no stage splits the vocabulary, since they never run.
void set_times(const StagePassTimes& times, StageCosts& costs);

// Sets the factors by which passes slow down while NCCL's kernels, or kernels that send tokens to
// experts, run beside them and take processors from them.
void set_overlaps(const ModelJob& job, const DeviceSettings& settings,
                  const schedules::Routes& routes, std::uint32_t slices,
                  const std::vector<StageParts>& stages, const StagePassTimes& times,
                  StageCosts& costs);

// Returns the number of a GPU's processors (SMs) that are left for compute while the kernels of
// collectives occupy the others. `communication.sms` must be less than the GPU has.
std::uint32_t processors_beside_collectives(const config::Gpu& gpu,
                                            const config::Communication& communication);

}  // namespace pipewright::workload
