#include "sim/search/task_board.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::search {
namespace {

// What runs so many times longer than any other did is taken for stuck.
constexpr double patience = 3;
constexpr double least_patience = 10;  // seconds

Task task_of(std::uint64_t id, const TaskBoard::Work& work) {
  return {.id = id, .kind = work.kind, .basis = work.basis, .candidates = work.candidates};
}

TaskBoard::On kind_of(const TaskBoard::Work& work) {
  if (work.kind == Task::Kind::simulate) return TaskBoard::On::simulations;
  return work.rows.empty() ? TaskBoard::On::new_ones : TaskBoard::On::closer_looks;
}

}  // namespace

Task TaskBoard::give(std::size_t worker, double now, Work work) {
  const std::uint64_t id = ++last_;
  Task task = task_of(id, work);
  if (work.rows.empty()) ++looking_;
  if (work.kind == Task::Kind::simulate) ++simulating_;
  running_.emplace(id, Running{std::move(work), now, {worker}});
  task_of_[worker] = id;
  alone_.insert(id);
  return task;
}

std::optional<Task> TaskBoard::share(std::size_t worker, double now) {
  if (alone_.empty()) return std::nullopt;
  const std::uint64_t id = *alone_.begin();
  Running& slow = running_.at(id);
  const double longest = longest_[index(slow.work.kind)];
  if (now - slow.since < std::max(least_patience, patience * longest)) return std::nullopt;
  slow.workers.push_back(worker);
  task_of_[worker] = id;
  alone_.erase(alone_.begin());
  return task_of(id, slow.work);
}

bool TaskBoard::is_on(std::size_t worker, std::uint64_t task) const {
  const auto its = task_of_.find(worker);
  return its != task_of_.end() && its->second == task;
}

const TaskBoard::Work* TaskBoard::find(std::uint64_t task) const {
  const auto running = running_.find(task);
  return running == running_.end() ? nullptr : &running->second.work;
}

void TaskBoard::remove(std::uint64_t task) {
  const Work& work = running_.at(task).work;
  if (work.rows.empty()) --looking_;
  if (work.kind == Task::Kind::simulate) --simulating_;
  running_.erase(task);
  alone_.erase(task);
}

void TaskBoard::done(std::size_t worker, double now) {
  const std::uint64_t task = task_of_.at(worker);
  const Running& running = running_.at(task);
  double& longest = longest_[index(running.work.kind)];
  longest = std::max(longest, now - running.since);
  spent_.at(static_cast<std::size_t>(kind_of(running.work))) += now - running.since;
  remove(task);
  task_of_.erase(worker);
}

double TaskBoard::spent(On on, double now) const {
  double seconds = spent_.at(static_cast<std::size_t>(on));
  for (const auto& [id, running] : running_)
    if (kind_of(running.work) == on) seconds += now - running.since;
  return seconds;
}

std::optional<TaskBoard::Work> TaskBoard::lost(std::size_t worker) {
  const auto its = task_of_.find(worker);
  if (its == task_of_.end()) return std::nullopt;
  const std::uint64_t task = its->second;
  task_of_.erase(its);
  const auto found = running_.find(task);
  if (found == running_.end()) return std::nullopt;
  Running& running = found->second;
  ++running.work.losses;
  std::erase(running.workers, worker);
  if (!running.workers.empty()) return std::nullopt;
  Work work = running.work;  // which remove() still looks at
  remove(task);
  return work;
}

}  // namespace pipewright::search
