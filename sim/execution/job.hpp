#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"
#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::execution {

enum class EngineKind : std::uint8_t { simgrid, timing };

// One run: this schedule, at these costs, on these hosts.
struct Job {
  const schedules::Schedule& schedule;
  const workload::StageCosts& costs;
  const cluster::Cluster& cluster;
  std::vector<cluster::Host*> hosts;  // of each device
  schedules::P2p p2p = schedules::P2p::eager;
};

}  // namespace pipewright::execution
