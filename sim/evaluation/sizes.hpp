#pragma once

#include <cstdint>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"

// Whether the sizes of a job go together, and what would where they do not: what an error offers
// has been judged by all rules at once.
namespace pipewright::evaluation {

// Throws config::Error at the size to change: a number that does not divide what of the model it
// cuts, or more GPUs than the cluster has.
void check_layout(const config::Scenario& scenario, const cluster::Cluster& cluster);

// Throws config::Error where a schedule has stages that the model's layers cannot be dealt out to,
// with chunks, devices and partitions that they can.
void check_stages(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                  const cluster::Cluster& cluster);

}  // namespace pipewright::evaluation
