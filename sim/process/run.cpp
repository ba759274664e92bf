#include "sim/process/run.hpp"

#include <array>
#include <chrono>
#include <list>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "sim/process/process.hpp"

namespace pipewright::process {
namespace {

constexpr double wait_interval = 0.1;  // seconds

Process start(const Body& body) {
  return Process([&](Channel& parent) { parent.send(body()); });
}

// Returns the result of a process that has sent its last message or ended.
Result result_of(Process& process) {
  std::optional<std::string> message = process.next_message();
  const int status = process.end();
  if (message && status == 0) return {false, std::move(*message)};
  if (message)
    if (std::optional<std::string> error = error_of(*message)) return {true, std::move(*error)};
  return {true, "its process " + describe_end(status), true};
}

}  // namespace

std::optional<Result> run_within(double seconds, const Body& body, Channel& parent) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Process process = start(body);
  const std::array<Process*, 1> waiting{&process};
  while (!process.is_over()) {
    if (!wait_for(waiting, wait_interval, &parent)) return std::nullopt;
    const std::chrono::duration<double> taken = Clock::now() - begin;
    if (seconds > 0 && taken.count() > seconds && !process.is_over())
      return Result{true, fmt::format("took longer than {:g} s", seconds)};
  }
  return result_of(process);
}

Result run(const Body& body) { return std::move(run_all({body}, 1, {}).front()); }

std::vector<Result> run_all(const std::vector<Body>& bodies, std::size_t jobs,
                            const std::function<void(std::size_t)>& show_progress,
                            const std::function<void(std::size_t, const Result&)>& on_end) {
  struct Running {
    Running(std::size_t number_, const Body& body) : number(number_), process(start(body)) {}
    std::size_t number;  // index of its body
    Process process;
  };
  std::vector<Result> results(bodies.size());
  std::list<Running> running;
  std::size_t started = 0;
  std::size_t ended = 0;
  while (ended < bodies.size()) {
    if (show_progress) show_progress(ended);
    for (; running.size() < jobs && started < bodies.size(); ++started)
      running.emplace_back(started, bodies[started]);
    std::vector<Process*> waiting;
    for (Running& child : running) waiting.push_back(&child.process);
    wait_for(waiting, wait_interval);
    for (Running& child : running) {
      if (!child.process.is_over()) continue;
      results[child.number] = result_of(child.process);
      if (on_end) on_end(child.number, results[child.number]);
    }
    ended += std::erase_if(running, [](const Running& child) { return child.process.is_over(); });
  }
  if (show_progress) show_progress(ended);
  return results;
}

}  // namespace pipewright::process
