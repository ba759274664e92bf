#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// Assignment of nodes to jobs that name no hosts: one job after the other, or one node to each job
// in turn.
enum class Placing : std::uint8_t { side_by_side, interleaved };
inline constexpr std::array<std::string_view, 2> placing_names{"side-by-side", "interleaved"};

struct NamedScenario {
  std::string name;
  const config::Scenario& scenario;
};

// Hosts of each job's ranks. Jobs do not share nodes; if there are not enough nodes for that, jobs
// side by side use the remaining GPUs. Throws config::Error.
std::vector<std::vector<cluster::Host*>> place_jobs(std::span<const NamedScenario> jobs,
                                                    const cluster::Cluster& cluster,
                                                    Placing placing);

}  // namespace pipewright::evaluation
