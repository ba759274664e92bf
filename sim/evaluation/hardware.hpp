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
  // GPU of each pipeline device's first copy, if there is a model.
  workload::Gpus gpus;
  std::vector<execution::Capacity> capacity;  // by pipeline device, over all copies
  // True if there are GPUs of other types than those in `gpus`.
  bool is_mixed = false;
  // Mean peak of all GPUs where the cluster states their types: in bf16, and in the recipe's type.
  double peak_flops = 0;
  double precision_peak_flops = 0;
};

// Memory by device, in bytes; 0: unknown.
std::vector<std::uint64_t> memory_of(const Hardware& hardware);

// Throws config::Error if the placement is impossible or a GPU type is unknown.
Hardware open_hardware(const config::Scenario& scenario);
// The same on a cluster that is open already.
Hardware place_on(cluster::Cluster cluster, const config::Scenario& scenario);
cluster::Cluster open_cluster(const config::Scenario& scenario);
// Changes links of the cluster. Throws a config::Error that names similar links or classes if the
// cluster does not have the given one.
void scale_link(const config::Variation::SlowLink& link, cluster::Cluster& cluster);
void scale_bandwidth(const config::Variation::Bandwidth& change, cluster::Cluster& cluster);

// GPU parameters without a source that the scenario's pass times or memory limits rest on.
trace::Assumed assumed_for(const config::Scenario& scenario, const Hardware& hardware);

// Sets the mean peak of the GPUs, which may be of several types.
void set_peaks(const Hardware& hardware, workload::StageCosts& costs);

// Simulation engine that the scenario selects.
execution::EngineKind engine_of(const config::Scenario& scenario);
// The job of a schedule on the hardware, whose passes take the times in `costs`.
execution::Job plain_job(const config::Scenario& scenario, const Hardware& hardware,
                         const schedules::Schedule& schedule, const workload::StageCosts& costs);
// The job of a plan on the hardware. If the scenario has a model, the collectives inside passes are
// simulated on the cluster and added to the plan's costs.
execution::Job make_job(const config::Scenario& scenario, Hardware& hardware, workload::Plan& plan);

}  // namespace pipewright::evaluation
