#pragma once

#include "analysis/report/job.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// Description of the job (model, GPUs, parallelism), for outputs that are read without the
// scenario.
analysis::JobInfo job_info(const config::Scenario& scenario, const Hardware& hardware,
                           const workload::Plan& plan);

}  // namespace pipewright::evaluation
