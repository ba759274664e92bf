#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/execution/job.hpp"
#include "sim/workload/plan/planner.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::evaluation {

// Hardware of a scenario: its cluster, or the ideal network that it describes, and the GPU of each
// rank.
struct Hardware {
  cluster::Cluster cluster;
  workload::Ranks ranks;
  std::vector<cluster::Host*> hosts;  // by rank
  // GPU type of each pipeline device, taken from its copy in the first replica. Empty without a
  // model.
  workload::Gpus gpus;
  std::vector<execution::Capacity> capacity;  // by pipeline device, over all copies
  // True if some ranks have GPUs of other types than those in `gpus`.
  bool is_mixed = false;
  // Mean peak FLOP/s over the GPUs of all ranks: in bf16, and in the data type of the training
  // recipe. 0 without a model, or if the scenario names the GPU.
  double peak_flops = 0;
  double precision_peak_flops = 0;
};

// Memory of the smallest GPU of each pipeline device, in bytes; 0: unknown.
std::vector<std::uint64_t> memory_of(const Hardware& hardware);

// Opens the scenario's cluster and places its ranks on GPUs. Throws config::Error if the placement
// is impossible or a GPU type is unknown.
Hardware open_hardware(const config::Scenario& scenario);
// Places the scenario's ranks on a cluster that is open already.
Hardware place_on(cluster::Cluster cluster, const config::Scenario& scenario);
cluster::Cluster open_cluster(const config::Scenario& scenario);
// Multiply the bandwidth of one link, or of a class of links, by a factor. Throw config::Error if
// the cluster does not have that link or class; the error suggests existing ones.
void scale_link(const config::Variation::SlowLink& link, cluster::Cluster& cluster);
void scale_bandwidth(const config::Variation::Bandwidth& change, cluster::Cluster& cluster);

// Returns the GPU parameters that no published source states, and on which the scenario's pass
// times or memory limits depend. The expected error is left empty, as it depends on a plan.
trace::Evidence evidence_of(const config::Scenario& scenario, const Hardware& hardware);

// Sets the peak FLOP/s in `costs` to the mean over all GPUs, which may be of several types.
void set_peaks(const Hardware& hardware, workload::StageCosts& costs);

// Simulation engine that the scenario selects.
execution::EngineKind engine_of(const config::Scenario& scenario);
// Job that runs a schedule on the hardware; its passes take the times in `costs`.
execution::Job plain_job(const config::Scenario& scenario, const Hardware& hardware,
                         const schedules::Schedule& schedule, const workload::StageCosts& costs);
// Job that runs a plan on the hardware. If the scenario has a model, the collectives inside passes
// are simulated on the cluster, and their exposed time is added to the plan's costs.
execution::Job make_job(const config::Scenario& scenario, Hardware& hardware, workload::Plan& plan);

}  // namespace pipewright::evaluation
