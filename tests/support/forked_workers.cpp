#include "support/forked_workers.hpp"

#include "sim/search/messages.hpp"
#include "sim/worker/cluster_worker.hpp"

namespace pipewright::tests {

ForkedWorkers::ForkedWorkers(const search::Space& space, std::size_t count)
    : space_(space), processes_(count) {
  for (std::size_t worker = 0; worker < count; ++worker) restart(worker);
}

bool ForkedWorkers::restart(std::size_t worker) {
  processes_[worker] = std::make_unique<process::Process>([this](process::Channel& parent) {
    if (!parent.receive() || !parent.send(to_line(search::HandshakeReply{}))) return;
    worker::evaluate_on_cluster(space_, {}, parent);
  });
  return true;
}

void ForkedWorkers::send(std::size_t worker, const std::string& line) {
  if (processes_[worker]) processes_[worker]->send(line);
}

std::vector<search::Workers::Event> ForkedWorkers::wait(double seconds) {
  std::vector<process::Process*> alive;
  for (const auto& process : processes_)
    if (process) alive.push_back(process.get());
  wait_for(alive, seconds);
  std::vector<Event> events;
  for (std::size_t worker = 0; worker < processes_.size(); ++worker) {
    if (!processes_[worker]) continue;
    while (auto line = processes_[worker]->next_message())
      events.push_back({worker, Event::Kind::answer, *line});
    if (!processes_[worker]->is_over()) continue;
    events.push_back({worker, Event::Kind::lost, process::describe_end(processes_[worker]->end())});
    processes_[worker].reset();
  }
  return events;
}

}  // namespace pipewright::tests
