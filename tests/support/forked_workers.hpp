#pragma once

#include <memory>
#include <vector>

#include "sim/process/process.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::tests {

// Workers of a search in child processes made by fork(), which evaluate candidates like workers of
// the program.
class ForkedWorkers final : public search::Workers {
 public:
  ForkedWorkers(const search::Space& space, std::size_t count);

  std::size_t count() const override { return processes_.size(); }
  bool is_alive(std::size_t worker) const override { return processes_[worker] != nullptr; }
  void send(std::size_t worker, const std::string& line) override;
  std::vector<Event> wait(double seconds) override;
  bool restart(std::size_t worker) override;

 private:
  const search::Space& space_;
  std::vector<std::unique_ptr<process::Process>> processes_;  // Null for a lost worker.
};

}  // namespace pipewright::tests
