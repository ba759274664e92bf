#pragma once

#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "sim/evaluation/scenario_run.hpp"

// Notes that belong to a run's figures, one sentence each.
namespace pipewright::evaluation {

// Notes that are known before the run: about the model, useless recomputation, schedules that
// interleave nothing, groups on a slower network than necessary, and idle nodes.
std::vector<std::string> notes_before(const ScenarioRun& run);
// Note about schedules that are PyTorch files with their own SEND and RECV: passes run in the order
// of the file, but the engine places the transfers.
std::vector<std::string> notes_of_files(const std::vector<std::string>& schedules);
// Note about runs with an MFU above 100 %, which means that the given pass times are impossible for
// the model.
std::vector<std::string> notes_of_speed(const std::vector<analysis::Summary>& runs);
// Notes about runs in which GPUs wait for their host, so that a faster GPU would gain nothing.
std::vector<std::string> notes_of_host(const ScenarioRun& run);

}  // namespace pipewright::evaluation
