#include "sim/execution/simgrid/weight_gatherer.hpp"

#include <algorithm>

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;

WeightGatherer::Key WeightGatherer::key_of(const Pass& pass) const {
  if (!by_pass()) return {.stage = pass.stage, .pass = {}};
  return {.stage = pass.stage, .pass = PassOfStage{pass.kind, pass.microbatch}};
}

PendingCollective WeightGatherer::gather(const PartOfStage& which) {
  device_.catch_up(device_.now);
  return {device_.others.weights(which, &device_.clock),
          {.device = device_.self.device,
           .stage = which.stage,
           .iteration = which.iteration,
           .kind = trace::CollectiveKind::gather_weights,
           .bytes = device_.replica_groups.weight_bytes(which.stage),
           .posted = device_.now}};
}

void WeightGatherer::gather(const Pass& pass, std::uint32_t part) {
  pending_[key_of(pass)].push_back(gather({.stage = pass.stage,
                                           .iteration = device_.job.schedule.iteration_of(pass),
                                           .part = part,
                                           .pass = PassOfStage{pass.kind, pass.microbatch}}));
}

void WeightGatherer::begin_iteration(std::uint32_t iteration,
                                     const std::vector<std::uint32_t>& stages) {
  if (device_.job.costs.traffic.empty() || !device_.job.conditions.gathers_before()) return;
  for (const std::uint32_t stage : stages) {
    if (!device_.replica_groups.has(stage)) continue;
    std::vector<PendingCollective>& parts = pending_[{.stage = stage, .pass = {}}];
    parts.clear();
    for (std::uint32_t part = 0; part < device_.replica_groups.weight_parts(stage); ++part)
      parts.push_back(gather({.stage = stage, .iteration = iteration, .part = part, .pass = {}}));
  }
}

void WeightGatherer::prefetch(schedules::PassCursor at) {
  const Job& job = device_.job;
  if (!job.gathers_for_passes()) return;
  for (bool found = false; !at.done() && !found; at.next()) {
    const Pass pass = at.pass();
    if (job.schedule.weight_versions == 1 && job.schedule.iteration_of(pass) > updated_) {
      held_back_ = at;
      return;
    }
    const std::optional<Pass> partner = pass.fused ? std::optional(at.following()) : std::nullopt;
    if (partner) at.next();
    for (const Pass& one : {pass, partner.value_or(pass)}) {
      if (!job.conditions.gathers_for(one.kind) || pending_.contains(key_of(one))) continue;
      gather(one, 0);
      found = true;
    }
  }
}

std::uint32_t WeightGatherer::parts(const Pass& pass) const {
  if (pending_.empty() || !pending_.contains(key_of(pass))) return 0;
  return device_.replica_groups.weight_parts(pass.stage);
}

double WeightGatherer::wait(const Pass& pass, std::uint32_t part, double now) {
  const Key key = key_of(pass);
  const auto found = pending_.find(key);
  const double then = std::max(now, device_.finish(found->second[part]));
  waited_ += then - now;
  if (by_pass() && part == 0) {
    in_use_.insert(key);
    if (recorder_ != nullptr) recorder_->hold_weights(pass.stage, then);
  }
  device_.now = then;
  const bool is_last = part + 1 == device_.replica_groups.weight_parts(pass.stage);
  if (is_last)
    pending_.erase(found);
  else if (by_pass())
    gather(pass, part + 1);
  return then;
}

void WeightGatherer::drop(const Pass& pass, double now) {
  const workload::Conditions& conditions = device_.job.conditions;
  if (in_use_.empty() || !conditions.drops_after(pass.kind)) return;
  Key key = key_of(pass);
  if (!conditions.reshards) key.pass->kind = PassKind::forward;  // for which they came
  if (in_use_.erase(key) == 0) return;
  if (recorder_ != nullptr) recorder_->drop_weights(pass.stage, now);
}

double WeightGatherer::gather_after_step(std::uint32_t iteration,
                                         const std::vector<std::uint32_t>& stages) {
  std::vector<PendingCollective> gathers;
  for (const std::uint32_t stage : stages)
    if (device_.replica_groups.has(stage))
      gathers.push_back(gather({.stage = stage, .iteration = iteration, .pass = {}}));
  double end = device_.now;
  for (PendingCollective& pending : gathers) end = std::max(end, device_.finish(pending));
  return end;
}

void WeightGatherer::set_updated(std::uint32_t iteration) {
  updated_ = iteration + 1;
  if (held_back_) prefetch(*std::exchange(held_back_, std::nullopt));
}

}  // namespace pipewright::execution
