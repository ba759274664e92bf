#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <unistd.h>

#include "analysis/report/search/rows.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/job/planned_launch.hpp"
#include "sim/cli/requests/captured.hpp"
#include "sim/cli/requests/progress_json.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/config/text/tree_json.hpp"
#include "sim/search/coordinator.hpp"

namespace pipewright::cli {
namespace {

// Runs a command with the words of the request, and returns its status and output.
Json answer_with(const Message& request,
                 const std::function<int(const Arguments& words)>& command) {
  set_input(request.json.value("input", ""));
  const Captured output(STDOUT_FILENO);
  const Captured notes(STDERR_FILENO);
  const int status = command(request.json.at("words").get<Arguments>());
  return {{"status", status}, {"output", output.text()}, {"notes", notes.text()}};
}

}  // namespace

Json answer_command(Message& request, const Connection&) { return answer_with(request, run_named); }

Json answer_search(Message& request, const Connection& client) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds pause(100);
  client.send({{"process", getpid()}});
  Clock::time_point due = Clock::now();
  std::optional<search::State::Phase> phase;
  const WatchSweep watch = [&](const search::State& state, const analysis::SearchRun& run) {
    if (state.phase == phase && Clock::now() < due) return;
    phase = state.phase;
    due = Clock::now() + pause;
    client.send({{"progress", progress_json(state, run)}});
  };
  std::optional<config::Value> tree;
  if (request.json.contains("sweep")) tree = config::tree_from_json(request.json["sweep"]);
  return answer_with(request, [&](const Arguments& words) {
    return sweep_command(words, {local_workers, local_what_if_runs, launch_planner()}, watch, tree);
  });
}

}  // namespace pipewright::cli
