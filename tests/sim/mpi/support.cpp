#include "sim/mpi/support.hpp"

#include <csignal>
#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "sim/mpi/messages.hpp"

namespace pipewright::mpi {
namespace {

void suspend_rank() {
  const pid_t self = getpid();
  if (fork() == 0) {
    sleep(3);
    kill(self, SIGCONT);
    _exit(0);
  }
  std::raise(SIGSTOP);
}

class TestWorker : public search::Workers {
 public:
  explicit TestWorker(std::string name) : name_(std::move(name)) {}
  std::size_t count() const override { return 1; }
  bool is_alive(std::size_t) const override { return is_alive_; }
  void send(std::size_t, const std::string& line) override {
    if (line == "die") std::raise(SIGKILL);
    if (line == "hang") suspend_rank();
    if (line == "wait") ready_ = steady_now() + 1;
    is_alive_ = line != "crash";
    events_.push_back(is_alive_ ? Event{0, Event::Kind::answer, name_ + " " + line}
                                : Event{0, Event::Kind::lost, "it crashed"});
  }
  std::vector<Event> wait(double seconds) override {
    if (!events_.empty() && steady_now() >= ready_) return std::exchange(events_, {});
    sleep_for(seconds);
    return {};
  }
  bool restart(std::size_t) override { return false; }

 private:
  std::string name_;
  bool is_alive_ = true;
  double ready_ = 0;
  std::vector<Event> events_;
};

}  // namespace

Messages& test_messages() {
  static Messages messages;
  return messages;
}

std::unique_ptr<search::Workers> make_test_worker(const std::vector<std::string>& command) {
  if (command.empty() || command.back() == "cannot") throw std::runtime_error("it cannot start");
  return std::make_unique<TestWorker>(command.back());
}

}  // namespace pipewright::mpi
