#pragma once

#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/launch_text.hpp"

namespace pipewright::jobs {

// `gpus_per_node` is for what starts processes, `planned` the order of passes where it is known.
// Throws Error for a scenario without a model.
Launch export_job(const config::Scenario& scenario, Framework framework,
                  const schedules::Schedule* planned = nullptr, std::uint64_t gpus_per_node = 8);

}  // namespace pipewright::jobs
