#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/process/process.hpp"

namespace pipewright::search {

// Workers that evaluate candidates: processes on one machine or on many. A worker receives a line
// and answers with a line before it receives another.
class Workers {
 public:
  struct Event {
    enum class Kind { answer, lost };
    std::size_t worker = 0;
    Kind kind = Kind::answer;
    std::string text;  // the answer, or the reason of the loss
  };

  virtual ~Workers() = default;
  virtual std::size_t count() const = 0;  // includes lost workers; numbers are 0 to count() - 1
  virtual bool is_alive(std::size_t worker) const = 0;
  virtual void send(std::size_t worker, const std::string& line) = 0;  // never blocks
  // Waits at most `seconds` until workers answer or are lost, and returns these events.
  virtual std::vector<Event> wait(double seconds) = 0;
  // Replaces a worker by a new one, which needs a handshake. Returns whether that is possible.
  virtual bool restart(std::size_t worker) = 0;
};

// Worker processes on this machine, each running `command`. They end with this process, at the
// latest when their standard input is closed.
class LocalWorkers final : public Workers {
 public:
  LocalWorkers(std::size_t count, std::vector<std::string> command);

  std::size_t count() const override { return processes_.size(); }
  bool is_alive(std::size_t worker) const override;
  void send(std::size_t worker, const std::string& line) override;
  std::vector<Event> wait(double seconds) override;
  // Starts a new process for the worker, after killing the old one if it is alive.
  bool restart(std::size_t worker) override;

 private:
  std::vector<std::string> command_;
  std::vector<std::optional<process::Process>> processes_;  // empty for a lost worker
};

}  // namespace pipewright::search
