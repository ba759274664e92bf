#include "sim/worker/goodput_worker.hpp"

#include <exception>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/report/search/row_json.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/candidate_goodput.hpp"
#include "sim/goodput/simulate.hpp"
#include "sim/process/run.hpp"

namespace pipewright::worker {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;

// Simulates the goodput run of a candidate in a child process, within the time limit of a
// simulation, and stores the result in its row. Returns false if the parent has ended.
bool simulate_goodput_run(const search::Space& space, double time_limit, process::Channel& parent,
                          CandidateRow& row) {
  const config::Scenario scenario = config::read_scenario(space.candidate(row.candidate));
  const auto body = [&]() -> std::string {
    try {
      CandidateRow finished = row;
      finished.work.lost_part = goodput::lost_part(scenario, row, space.sweep().objective.seeds);
      return analysis::to_json_line(finished);
    } catch (const config::Error& error) {
      CandidateRow illegal = row;
      illegal.outcome = Outcome::illegal;
      illegal.note = error.what();
      return analysis::to_json_line(illegal);
    }
  };
  const std::optional<process::Result> result = process::run_within(time_limit, body, parent);
  if (!result) return false;
  if (result->failed) {
    row.outcome = Outcome::failed;
    row.note = fmt::format("goodput run: {}", result->text);
  } else {
    row = analysis::row_of_json(result->text);
  }
  return true;
}

}  // namespace

void simulate_goodput_runs(const search::Space& space, const WorkerSettings& settings,
                           process::Channel& parent) {
  dup2(STDERR_FILENO, STDOUT_FILENO);  // standard output is the coordinator's
  goodput::load_simulator();
  while (const std::optional<std::string> line = parent.receive()) {
    CandidateRow row = analysis::row_of_json(*line);
    if (!simulate_goodput_run(space, settings.time_limit_s, parent, row)) return;
    row.site = {};
    if (!parent.send(analysis::to_json_line(row))) return;
  }
}

}  // namespace pipewright::worker
