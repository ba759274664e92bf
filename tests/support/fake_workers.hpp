#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/search/messages.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::tests {

// Returns an invented result of simulating a candidate, which depends only on the candidate's
// number.
analysis::CandidateRow made_up_row(const search::Space& space, std::uint64_t candidate);

// Workers for tests of the coordinator. They answer every task at once with invented rows and
// simulate nothing.
class FakeWorkers final : public search::Workers {
 public:
  FakeWorkers(const search::Space& space, std::size_t count);

  std::size_t count() const override { return lines_.size(); }
  bool is_alive(std::size_t worker) const override { return alive_[worker]; }
  void send(std::size_t worker, const std::string& line) override { lines_[worker] = line; }
  std::vector<Event> wait(double seconds) override;
  bool restart(std::size_t worker) override;

  // Called for the n-th line that workers receive. If it returns true, `answer` is sent instead of
  // the normal answer; an empty `answer` ends the worker.
  std::function<bool(std::size_t n, std::string& answer)> misbehave;
  std::function<void(const search::Task&)> on_task = [](const search::Task&) {};
  bool restarts = true;
  std::vector<std::uint64_t> simulated;  // Candidates in the order of requests.

 private:
  std::string answer(const std::string& line);

  const search::Space& space_;
  std::vector<std::string> lines_;  // Unanswered request of each worker.
  std::vector<char> alive_;
  std::vector<char> ready_;
  std::size_t line_count_ = 0;
};

}  // namespace pipewright::tests
