#pragma once

#include <cstdint>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"

// Checks that a job's parallel sizes (tp, pp, dp, ...) divide the model's dimensions and fit the
// cluster. Sizes that an error suggests satisfy all rules at once.
namespace pipewright::evaluation {

// Throws config::Error, located at the size to change, if a size does not divide the dimension of
// the model that it splits, or if the job needs more GPUs than the cluster has.
void check_layout(const config::Scenario& scenario, const cluster::Cluster& cluster);

// Throws config::Error if the model's layers cannot be divided among the stages of a schedule. The
// error suggests chunks, devices and partitions that work.
void check_stages(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                  const cluster::Cluster& cluster);

}  // namespace pipewright::evaluation
