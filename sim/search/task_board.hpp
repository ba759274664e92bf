#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/search/messages.hpp"

namespace pipewright::search {

// Who works on what since when, and what came back undone.
class TaskBoard {
 public:
  struct Work {
    Task::Kind kind = Task::Kind::assess;
    analysis::Basis basis = analysis::Basis::passes;  // to assess
    std::vector<std::uint64_t> candidates;
    std::vector<std::size_t> rows;  // of those that have one; else they are new
    std::uint32_t losses = 0;       // of workers that were on it
  };

  Task give(std::size_t worker, double now, Work work);
  // The work of a task that runs much longer than others did, for a second worker.
  std::optional<Task> share(std::size_t worker, double now);

  bool is_on(std::size_t worker, std::uint64_t task) const;
  // The work of a task; null if somebody else was faster.
  const Work* find(std::uint64_t task) const;
  // The worker is idle. done() is for what find() knows; its other worker may go on in vain.
  void done(std::size_t worker, double now);
  void too_late(std::size_t worker) { task_of_.erase(worker); }
  bool is_busy(std::size_t worker) const { return task_of_.contains(worker); }
  // The work that nobody is left for.
  std::optional<Work> lost(std::size_t worker);

  std::size_t running() const { return running_.size(); }
  std::size_t simulating() const { return simulating_; }  // tasks
  bool is_looking() const { return looking_ > 0; }        // somebody, at candidates without a row
  // Seconds that workers have spent on candidates without a row, on looking closer at those that
  // have one, and on simulations.
  enum class On : std::uint8_t { new_ones, closer_looks, simulations };
  double spent(On on, double now) const;

 private:
  struct Running {
    Work work;
    double since = 0;  // seconds
    std::vector<std::size_t> workers;
  };
  static std::size_t index(Task::Kind kind) { return static_cast<std::size_t>(kind); }
  void remove(std::uint64_t task);

  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Running> running_;
  std::unordered_map<std::size_t, std::uint64_t> task_of_;  // by worker
  std::set<std::uint64_t> alone_;  // tasks of one worker, and so by the time they began
  std::size_t looking_ = 0;
  std::size_t simulating_ = 0;
  std::array<double, 3> spent_{};    // seconds
  std::array<double, 2> longest_{};  // by kind, seconds
};

}  // namespace pipewright::search
