#include "sim/search/workers.hpp"

#include <utility>

namespace pipewright::search {
namespace {

// Describes how the process of a worker ended, including the last line that it wrote to standard
// error.
std::string why_lost(process::Process& process) {
  std::string end = "its process " + process::describe_end(process.end());
  const std::string& errors = process.errors();
  const std::size_t last = errors.find_last_not_of('\n');
  if (last == std::string::npos) return end;
  const std::size_t before = errors.rfind('\n', last);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return end + ": " + errors.substr(begin, last + 1 - begin);
}

}  // namespace

LocalWorkers::LocalWorkers(std::size_t count, std::vector<std::string> command)
    : command_(std::move(command)), processes_(count) {
  for (std::optional<process::Process>& process : processes_) process.emplace(command_);
}

bool LocalWorkers::is_alive(std::size_t worker) const { return processes_.at(worker).has_value(); }

void LocalWorkers::send(std::size_t worker, const std::string& line) {
  if (is_alive(worker)) processes_[worker]->send(line);
}

std::vector<Workers::Event> LocalWorkers::wait(double seconds) {
  std::vector<process::Process*> alive;
  for (std::optional<process::Process>& process : processes_)
    if (process) alive.push_back(&*process);
  process::wait_for(alive, seconds);
  std::vector<Event> events;
  for (std::size_t worker = 0; worker < processes_.size(); ++worker) {
    std::optional<process::Process>& process = processes_[worker];
    if (!process) continue;
    while (std::optional<std::string> line = process->next_message())
      events.push_back({worker, Event::Kind::answer, std::move(*line)});
    if (!process->is_over()) continue;
    events.push_back({worker, Event::Kind::lost, why_lost(*process)});
    process.reset();
  }
  return events;
}

bool LocalWorkers::restart(std::size_t worker) {
  processes_.at(worker).reset();
  processes_[worker].emplace(command_);
  return true;
}

}  // namespace pipewright::search
