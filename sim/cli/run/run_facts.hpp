#pragma once

#include <vector>

#include "analysis/summary.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::cli {

// What was run, for outputs that stand without the scenario.
analysis::JobInfo job_info(const config::Scenario& scenario, const evaluation::Hardware& hardware);

// Says on standard error which runs computed more than their GPUs can: times of passes were given
// that cannot be of this model.
void note_impossible_speed(const std::vector<analysis::Summary>& runs);

}  // namespace pipewright::cli
