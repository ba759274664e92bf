#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/search/workers.hpp"
#include "sim/sweep/sweep.hpp"

namespace pipewright::search {

// Workers that are ready for tasks because they have received the sweep. A lost worker is restarted
// and receives the sweep again.
class WorkerPool {
 public:
  WorkerPool(Workers& workers, std::string handshake);

  // Returns an idle worker and marks it as busy; nothing if all are busy.
  std::optional<std::size_t> claim_idle();
  void send(std::size_t worker, const std::string& line) { workers_.send(worker, line); }
  void release(std::size_t worker);  // the worker is idle again
  // Waits at most `seconds`. Returns the answers of claimed workers and the news of lost ones.
  // Throws config::Error for a fault of the sweep, and std::runtime_error once no worker is left.
  std::vector<Workers::Event> wait(double seconds);
  // Ends a claimed worker that gave an invalid answer, and starts a new one in its place.
  void dismiss(std::size_t worker);

 private:
  enum class WorkerState : std::uint8_t { in_handshake, idle, busy, gone };

  void begin_handshake(std::size_t worker);
  void replace(std::size_t worker);
  void finish_handshake(std::size_t worker, const std::string& line);
  void check_worker_left() const;

  Workers& workers_;
  std::string handshake_;
  std::vector<WorkerState> states_;      // by worker
  std::vector<std::uint32_t> failures_;  // by worker: restarts since it was ready
  std::vector<std::size_t> idle_;
  std::size_t gone_ = 0;
  std::size_t losses_ = 0;  // since the last answer of any worker
  std::string last_loss_;
};

// Asks a worker for the facts of a sweep's clusters. Throws config::Error for a fault of the sweep,
// and std::runtime_error if no worker answers.
std::vector<ClusterFacts> ask_facts(Workers& workers, const std::string& sweep);

}  // namespace pipewright::search
