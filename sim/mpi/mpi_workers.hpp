#pragma once

#include <string>
#include <vector>

#include "sim/mpi/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::mpi {

// Workers of a search, as the coordinator uses them: worker w is MPI rank w + 1. There is one such
// object per process.
class MpiWorkers : public search::Workers {
 public:
  // Makes every other rank start `command`. A rank that is silent for `silence_s` seconds is lost.
  // When such a rank is heard again, it is reported as lost once more and can then be restarted.
  MpiWorkers(Messages& messages, const std::vector<std::string>& command, double silence_s);

  std::size_t count() const override { return ranks_.size(); }
  bool is_alive(std::size_t worker) const override;
  void send(std::size_t worker, const std::string& line) override;
  std::vector<Event> wait(double seconds) override;
  bool restart(std::size_t worker) override;

 private:
  enum class State {
    starting,  // messages before the last `started` come from an earlier command
    serving,
    commandless,  // the rank is alive, its command has ended
    silent,
  };
  struct Rank {
    State state = State::starting;
    int pending_starts = 1;  // starts that were requested and not yet confirmed
    double heard_at = 0;
    std::string host;
  };

  void receive(Message message, std::vector<Event>& events);
  void find_silent(std::vector<Event>& events);
  void send_alive();
  std::string name_of(std::size_t worker) const;

  Messages& messages_;
  std::vector<Rank> ranks_;
  double silence_s_;
  ListeningClock clock_;
  double checked_silence_at_ = 0;
  double last_alive_ = 0;
};

// The coordinator's last step: ends all ranks and MPI, and returns the exit status of the process.
// If a rank is dead or hangs, MPI_Finalize might wait for it forever; then MPI is aborted with that
// status, which ends this process, too.
int finish(Messages& messages, int status);

}  // namespace pipewright::mpi
