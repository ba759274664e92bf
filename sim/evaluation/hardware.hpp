#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/execution/job.hpp"
#include "sim/workload/plan/planner.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::evaluation {

// What a scenario runs on: its cluster, or the ideal network that it describes, and on which GPU of
// it each rank is.
struct Hardware {
  cluster::Cluster cluster;
  workload::Ranks ranks;
  std::vector<cluster::Host*> hosts;  // by rank
  workload::Gpus gpus;                // by pipeline device, of its first copy; if there is a model
  std::vector<execution::Capacity> capacity;  // by pipeline device, of all of its copies
  bool is_mixed = false;                      // not all GPUs are of the type of those
  // The mean of all GPUs, where the cluster says what they are: in bf16, in the recipe's type.
  double peak_flops = 0;
  double precision_peak_flops = 0;
};

// What the devices have, in bytes; 0: unknown.
std::vector<std::uint64_t> memory_of(const Hardware& hardware);

// Throws config::Error where a placement was given and cannot be, or a GPU's type is not known.
Hardware open_hardware(const config::Scenario& scenario);
// On a cluster that has been opened.
Hardware place_on(cluster::Cluster cluster, const config::Scenario& scenario);
cluster::Cluster open_cluster(const config::Scenario& scenario);
// A Config::Error that names what is near, if the cluster has no such link or class.
void slow(const config::Variation::SlowLink& link, cluster::Cluster& cluster);
void scale(const config::Variation::Bandwidth& change, cluster::Cluster& cluster);

// Numbers of the GPUs' files that no source has, where the scenario's passes, or what its devices
// have, rest on them.
trace::Assumed assumed_for(const config::Scenario& scenario, const Hardware& hardware);

// Where GPUs are of several types, what they reach together.
void set_peaks(const Hardware& hardware, workload::StageCosts& costs);

// Who runs it.
execution::EngineKind engine_of(const config::Scenario& scenario);
// A schedule on the hardware, where passes take what `costs` says.
execution::Job plain_job(const config::Scenario& scenario, const Hardware& hardware,
                         const schedules::Schedule& schedule, const workload::StageCosts& costs);
// The plan on the hardware. Where the scenario has a model, the collectives inside passes are timed
// on the cluster and go into the plan's costs.
execution::Job make_job(const config::Scenario& scenario, Hardware& hardware, workload::Plan& plan);

}  // namespace pipewright::evaluation
