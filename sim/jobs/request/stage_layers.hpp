#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/config/launch_plan.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::jobs {

// Layers of each of `stages` stages that a partition gives without costs: listed ones, or as equal
// as possible with longer stages first. Empty for the other rules.
std::vector<std::uint32_t> stage_layers(const config::Partition& partition, std::uint32_t layers,
                                        std::size_t stages);

// Layers of each of `stages` stages of a scenario with a model, as planned if the plan is of these
// stages. Empty if they are unknown.
std::vector<std::uint32_t> planned_stage_layers(const config::Scenario& scenario,
                                                const config::LaunchPlan& plan, std::size_t stages);

}  // namespace pipewright::jobs
