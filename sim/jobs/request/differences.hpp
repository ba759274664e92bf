#pragma once

#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/request/difference.hpp"
#include "sim/jobs/request/job.hpp"
#include "sim/jobs/request/launch_text.hpp"

namespace pipewright::jobs {

// Differences between a scenario and `job`, which was read from the scenario's launch, as far as
// they change the prediction. Keys that are not part of a job (cluster, engine, outputs) are not
// compared. The stack's attention kernels, fused kernels, rules and keys of gathered weights are
// compared with the file of that stack, unless it is of other software than the launch. Its other
// keys are not compared: times of the host, memory of the software, schedules that the software has
// and sinks_skip_masked are no settings of a job.
std::vector<Difference> differences(const LaunchInput& input, Job job);

// Tree of a scenario in a uniform form: model and schedule are maps, aliases are replaced by the
// keys' own names, and keys that the scenario leaves to its stack have the stack's defaults.
config::Value spelled_out(const config::Scenario& scenario);

}  // namespace pipewright::jobs
