#pragma once

#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "sim/evaluation/scenario_run.hpp"

// What a reader should know beside a run's figures, a sentence each.
namespace pipewright::evaluation {

// Before it runs: of the model, of recomputation that only costs time, of schedules that interleave
// nothing, of groups that talk over a slower network than they could, of nodes that stay idle.
std::vector<std::string> notes_before(const ScenarioRun& run);
// Of which of these schedules are files of PyTorch that place SEND and RECV: passes are run in
// their order, and transfers where the engine has them.
std::vector<std::string> notes_of_files(const std::vector<std::string>& schedules);
// Of what came out: runs that computed more than their GPUs can, as times of passes were given that
// cannot be of the model.
std::vector<std::string> notes_of_speed(const std::vector<analysis::Summary>& runs);
// Runs in which GPUs wait for their host: a faster GPU would gain nothing.
std::vector<std::string> notes_of_host(const ScenarioRun& run);

}  // namespace pipewright::evaluation
