#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/process/process.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::search {

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
