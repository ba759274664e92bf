#include "sim/search/task_board.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::search {
namespace {

// A task counts as stuck once it runs this many times longer than any finished task has taken.
constexpr double stuck_factor = 3;
constexpr double min_stuck_time = 10;  // seconds

Task task_with_id(std::uint64_t id, const TaskBoard::Work& work) {
  return {.id = id, .kind = work.kind, .basis = work.basis, .candidates = work.candidates};
}

TaskBoard::Activity activity_of(const TaskBoard::Work& work) {
  if (work.kind == Task::Kind::simulate) return TaskBoard::Activity::simulations;
  if (work.rows.empty()) return TaskBoard::Activity::new_candidates;
  return work.basis == analysis::Basis::order ? TaskBoard::Activity::orders
                                              : TaskBoard::Activity::closer_bounds;
}

}  // namespace

Task TaskBoard::assign(std::size_t worker, double now, Work work) {
  const std::uint64_t id = ++last_;
  Task task = task_with_id(id, work);
  if (work.rows.empty()) ++assessing_new_;
  if (work.kind == Task::Kind::simulate) ++simulating_;
  running_.emplace(id, Running{std::move(work), now, {worker}});
  task_of_[worker] = id;
  single_worker_tasks_.insert(id);
  return task;
}

std::optional<Task> TaskBoard::assign_again(std::size_t worker, double now) {
  if (single_worker_tasks_.empty()) return std::nullopt;
  const std::uint64_t id = *single_worker_tasks_.begin();
  Running& slow = running_.at(id);
  const double longest = longest_[index(slow.work.kind)];
  if (now - slow.since < std::max(min_stuck_time, stuck_factor * longest)) return std::nullopt;
  slow.workers.push_back(worker);
  task_of_[worker] = id;
  single_worker_tasks_.erase(single_worker_tasks_.begin());
  return task_with_id(id, slow.work);
}

bool TaskBoard::has_task(std::size_t worker, std::uint64_t task) const {
  const auto it = task_of_.find(worker);
  return it != task_of_.end() && it->second == task;
}

const TaskBoard::Work* TaskBoard::find(std::uint64_t task) const {
  const auto running = running_.find(task);
  return running == running_.end() ? nullptr : &running->second.work;
}

void TaskBoard::remove(std::uint64_t task) {
  const Work& work = running_.at(task).work;
  if (work.rows.empty()) --assessing_new_;
  if (work.kind == Task::Kind::simulate) --simulating_;
  running_.erase(task);
  single_worker_tasks_.erase(task);
}

void TaskBoard::finish(std::size_t worker, double now) {
  const std::uint64_t task = task_of_.at(worker);
  const Running& running = running_.at(task);
  double& longest = longest_[index(running.work.kind)];
  longest = std::max(longest, now - running.since);
  spent_.at(static_cast<std::size_t>(activity_of(running.work))) += now - running.since;
  remove(task);
  task_of_.erase(worker);
}

double TaskBoard::spent(Activity activity, double now) const {
  double seconds = spent_.at(static_cast<std::size_t>(activity));
  for (const auto& [task, running] : running_)
    if (activity_of(running.work) == activity) seconds += now - running.since;
  return seconds;
}

std::optional<TaskBoard::Work> TaskBoard::remove_worker(std::size_t worker) {
  const auto it = task_of_.find(worker);
  if (it == task_of_.end()) return std::nullopt;
  const std::uint64_t task = it->second;
  task_of_.erase(it);
  const auto task_it = running_.find(task);
  if (task_it == running_.end()) return std::nullopt;
  Running& running = task_it->second;
  ++running.work.losses;
  std::erase(running.workers, worker);
  if (!running.workers.empty()) return std::nullopt;
  Work work = running.work;  // a copy, as remove() reads the original
  remove(task);
  return work;
}

}  // namespace pipewright::search
