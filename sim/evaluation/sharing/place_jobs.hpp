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

// Order in which jobs without named hosts get nodes: all nodes of one job after those of another,
// or one node for each job in turn.
enum class Placing : std::uint8_t { side_by_side, interleaved };
inline constexpr std::array<std::string_view, 2> placing_names{"side-by-side", "interleaved"};

struct NamedScenario {
  std::string name;
  const config::Scenario& scenario;
};

// GPUs (hosts) of each job's ranks. Jobs get nodes of their own; if there are too few nodes, jobs
// placed side by side take the GPUs that others leave free. Throws config::Error.
std::vector<std::vector<cluster::Host*>> place_jobs(std::span<const NamedScenario> jobs,
                                                    const cluster::Cluster& cluster,
                                                    Placing placing);

}  // namespace pipewright::evaluation
