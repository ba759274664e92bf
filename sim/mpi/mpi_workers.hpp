#pragma once

#include <string>
#include <vector>

#include "sim/mpi/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::mpi {

// The coordinator's side, once in a process: worker w is rank w + 1.
class MpiWorkers : public search::Workers {
 public:
  // Has every other rank start `command`. One that is silent for so many seconds is lost; if it is
  // heard again, it is reported as lost once more and can be restarted from then on.
  MpiWorkers(Messages& messages, const std::vector<std::string>& command, double silence_s);

  std::size_t count() const override { return ranks_.size(); }
  bool is_alive(std::size_t worker) const override;
  void send(std::size_t worker, const std::string& line) override;
  std::vector<Event> wait(double seconds) override;
  bool restart(std::size_t worker) override;

 private:
  enum class State {
    starting,  // what comes before the last word `started` is of an earlier command
    serving,
    commandless,  // the rank lives, its command does not
    silent,
  };
  struct Rank {
    State state = State::starting;
    int starts = 1;  // asked for, of which the rank has not yet told
    double heard = 0;
    std::string host;
  };

  void receive(Message message, std::vector<Event>& events);
  void find_silent(std::vector<Event>& events);
  void say_alive();
  std::string called(std::size_t worker) const;

  Messages& messages_;
  std::vector<Rank> ranks_;
  double silence_s_;
  ListeningClock clock_;
  double looked_ = 0;
  double said_ = 0;
};

// The coordinator's last step: ends all ranks and MPI, and returns the status that the process is
// to end with. If a rank is dead or hangs, MPI_Finalize might wait for it forever; then MPI is
// aborted, this process included, with that status.
int finish(Messages& messages, int status);

}  // namespace pipewright::mpi
