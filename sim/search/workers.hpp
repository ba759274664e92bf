#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/process/process.hpp"

namespace pipewright::search {

// Who evaluates candidates: processes of this machine, or of many. Each worker takes one line at a
// time and answers with one line.
class Workers {
 public:
  struct Event {
    enum class Kind { answer, lost };
    std::size_t worker = 0;
    Kind kind = Kind::answer;
    std::string text;  // the answer, or why the worker is lost
  };

  virtual ~Workers() = default;
  virtual std::size_t count() const = 0;  // they are called 0 to count - 1, lost ones too
  virtual bool is_alive(std::size_t worker) const = 0;
  virtual void send(std::size_t worker, const std::string& line) = 0;  // never waits
  // What happened, after `seconds` at the most.
  virtual std::vector<Event> wait(double seconds) = 0;
  // Replaces a lost worker, if that can be; it is told the sweep anew, as those at the start.
  virtual bool restart(std::size_t worker) = 0;
};

// Processes of this machine that run `command`. They end when this one does: at the latest when
// their standard input ends.
class LocalWorkers final : public Workers {
 public:
  LocalWorkers(std::size_t count, std::vector<std::string> command);

  std::size_t count() const override { return processes_.size(); }
  bool is_alive(std::size_t worker) const override;
  void send(std::size_t worker, const std::string& line) override;
  std::vector<Event> wait(double seconds) override;
  // Also of one that is alive: it is killed.
  bool restart(std::size_t worker) override;

 private:
  std::vector<std::string> command_;
  std::vector<std::optional<process::Process>> processes_;  // none: it is lost
};

}  // namespace pipewright::search
