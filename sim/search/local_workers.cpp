#include "sim/search/local_workers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/search/local_process.hpp"

namespace pipewright::search {

LocalWorkers::LocalWorkers(std::size_t count, std::vector<std::string> command)
    : command_(std::move(command)) {
  for (std::size_t i = 0; i < count; ++i)
    processes_.push_back(std::make_unique<LocalProcess>(command_));
}

LocalWorkers::~LocalWorkers() = default;

bool LocalWorkers::is_alive(std::size_t worker) const { return processes_.at(worker) != nullptr; }

void LocalWorkers::send(std::size_t worker, const std::string& line) {
  if (is_alive(worker)) processes_[worker]->send(line);
}

std::vector<Workers::Event> LocalWorkers::wait(double seconds) {
  std::vector<pollfd> waiting;
  std::vector<std::size_t> workers;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (!is_alive(i)) continue;
    processes_[i]->append_to(waiting);
    workers.push_back(i);
  }
  if (poll(waiting.data(), waiting.size(), static_cast<int>(seconds * 1000)) < 0 && errno != EINTR)
    throw std::runtime_error(fmt::format("cannot wait for workers: {}", std::strerror(errno)));
  std::vector<Event> events;
  const pollfd* waited = waiting.data();
  for (const std::size_t worker : workers) {
    LocalProcess& process = *processes_[worker];
    const bool lives = process.move_on(std::exchange(waited, waited + LocalProcess::streams));
    while (std::optional<std::string> line = process.next_line())
      events.push_back({worker, Event::Kind::answer, std::move(*line)});
    if (lives) continue;
    events.push_back({worker, Event::Kind::lost, "its process " + process.end()});
    processes_[worker].reset();
  }
  return events;
}

bool LocalWorkers::restart(std::size_t worker) {
  processes_.at(worker).reset();
  processes_[worker] = std::make_unique<LocalProcess>(command_);
  return true;
}

}  // namespace pipewright::search
