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

// Keeps track of tasks: which worker has which task, since when, and how long tasks take. Times are
// in seconds.
class TaskBoard {
 public:
  struct Work {
    Task::Kind kind = Task::Kind::assess;
    analysis::Basis basis = analysis::Basis::passes;  // basis of the bounds to be computed
    std::vector<std::uint64_t> candidates;
    std::vector<std::size_t> rows;  // rows of the candidates; empty for new candidates
    std::uint32_t losses = 0;       // workers that were lost with this work
  };

  Task assign(std::size_t worker, double now, Work work);
  // Assigns a task that has run much longer than any before to this worker as well; nothing if
  // there is no such task.
  std::optional<Task> assign_again(std::size_t worker, double now);

  bool has_task(std::size_t worker, std::uint64_t task) const;
  // Returns the work of a task; null if another worker has finished it.
  const Work* find(std::uint64_t task) const;
  // Marks the task of a worker, for which find() is not null, as finished. A second worker may
  // still be working on it.
  void finish(std::size_t worker, double now);
  // Makes a worker idle after its answer to a task that another worker has already finished.
  void drop_late_answer(std::size_t worker) { task_of_.erase(worker); }
  bool is_busy(std::size_t worker) const { return task_of_.contains(worker); }
  // Removes a lost worker. Returns the work of its task if no other worker has that task.
  std::optional<Work> remove_worker(std::size_t worker);

  std::size_t running() const { return running_.size(); }  // tasks
  std::size_t simulating() const { return simulating_; }   // tasks
  bool is_assessing_new() const { return assessing_new_ > 0; }
  // Kinds of work on which time is spent: first bounds of candidates, closer bounds, bounds with
  // the order of passes, and simulations.
  enum class Activity : std::uint8_t { new_candidates, closer_bounds, orders, simulations };
  double spent(Activity activity, double now) const;  // seconds of all workers

 private:
  struct Running {
    Work work;
    double since = 0;
    std::vector<std::size_t> workers;
  };
  static std::size_t index(Task::Kind kind) { return static_cast<std::size_t>(kind); }
  void remove(std::uint64_t task);

  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Running> running_;
  std::unordered_map<std::size_t, std::uint64_t> task_of_;  // by worker
  std::set<std::uint64_t> single_worker_tasks_;             // in the order in which they began
  std::size_t assessing_new_ = 0;                           // tasks
  std::size_t simulating_ = 0;                              // tasks
  std::array<double, 4> spent_{};                           // by activity
  std::array<double, 2> longest_{};                         // by kind of task
};

}  // namespace pipewright::search
