#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/summary.hpp"
#include "sim/evaluation/scenario_run.hpp"

// Notes for the user that are printed with the results of a run, one sentence each.
namespace pipewright::evaluation {

// Results that the notes of a run stand beside.
struct NoteSetting {
  bool shows_bubble = true;      // false: the results have no bubble
  std::uint64_t other_gpus = 0;  // GPUs of the cluster that have work beside the scenario
};

// Notes that need no simulation: about rules of the stack that the job breaks, the model,
// recomputation and keys of FSDP without effect, interleaved schedules with one chunk, groups
// spread over slower links than necessary, and idle nodes.
std::vector<std::string> notes_before(const ScenarioRun& run, const NoteSetting& setting = {});
// Notes about simulations that ran one replica of each kind in place of all.
std::vector<std::string> notes_of_reduction(const ScenarioRun& run);
// Note about schedules from PyTorch files that place SEND and RECV themselves: the simulation keeps
// their order of passes, but not their placement of transfers.
std::vector<std::string> notes_of_files(const std::vector<std::string>& schedules);
// Note about runs with an MFU above 100 %: the scenario's pass times are too short for the model.
std::vector<std::string> notes_of_speed(const std::vector<analysis::Summary>& runs);
// Notes about schedules whose passes wait for the host to launch kernels, so that a faster GPU
// would gain nothing.
std::vector<std::string> notes_of_host(const ScenarioRun& run);

}  // namespace pipewright::evaluation
