#include "sim/execution/simgrid/weight_gatherer.hpp"

#include <algorithm>

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;

WeightGatherer::WeightGatherer(DeviceContext& device) : device_(device) {
  if (device.job.reshards_stages())
    unshards_.emplace(device.replica_groups.unshard_plan(device.self.device));
}

WeightGatherer::Key WeightGatherer::key_of(const Pass& pass) const {
  if (!gathers_by_pass()) return {.stage = pass.stage, .pass = {}};
  return {.stage = pass.stage, .pass = PassOfStage{pass.kind, pass.microbatch}};
}

PendingCollective WeightGatherer::gather(const PartOfStage& part) {
  device_.catch_up(device_.now);
  return {device_.synchronizer.weights(device_.self, part, &device_.clock),
          {.device = device_.self.device,
           .stage = part.stage,
           .iteration = part.iteration,
           .kind = trace::CollectiveKind::gather_weights,
           .bytes = device_.replica_groups.weight_bytes(part.stage),
           .posted = device_.now}};
}

void WeightGatherer::gather(const Pass& pass, std::uint32_t part) {
  const std::uint32_t iteration = device_.job.schedule.iteration_of(pass);
  const PassOfStage of_stage{pass.kind, pass.microbatch};
  const auto first = first_passes_.try_emplace({iteration, pass.stage}, of_stage).first;
  pending_[key_of(pass)].push_back(gather({.stage = pass.stage,
                                           .iteration = iteration,
                                           .part = part,
                                           .pass = of_stage,
                                           .with_copies = first->second == of_stage}));
}

void WeightGatherer::gather_stage(PartOfStage first) {
  if (!device_.replica_groups.has(first.stage)) return;
  std::vector<PendingCollective>& parts = pending_[{.stage = first.stage, .pass = {}}];
  parts.clear();
  for (; first.part < device_.replica_groups.weight_parts(first.stage); ++first.part)
    parts.push_back(gather(first));
}

void WeightGatherer::begin_iteration(std::uint32_t iteration,
                                     const std::vector<std::uint32_t>& stages) {
  if (device_.job.costs.traffic.empty() || !device_.job.conditions.gathers_before()) return;
  for (const std::uint32_t stage : stages)
    gather_stage({.stage = stage, .iteration = iteration, .pass = {}});
}

void WeightGatherer::prefetch(schedules::PassCursor at) {
  const Job& job = device_.job;
  if (!job.gathers_for_passes()) return;
  for (bool is_requested = false; !at.done() && !is_requested; at.next()) {
    const Pass pass = at.pass();
    if (job.schedule.weight_versions == 1 && job.schedule.iteration_of(pass) > updated_) {
      deferred_ = at;
      return;
    }
    const std::optional<Pass> partner = pass.fused ? std::optional(at.following()) : std::nullopt;
    if (partner) at.next();
    for (const Pass& member : {pass, partner.value_or(pass)}) {
      if (!job.conditions.gathers_for(member.kind) || pending_.contains(key_of(member))) continue;
      const std::uint32_t parts = std::min(device_.replica_groups.weight_parts(member.stage),
                                           device_.replica_groups.parts_ahead(member.stage));
      if (parts == 0) continue;
      for (std::uint32_t part = 0; part < parts; ++part) gather(member, part);
      is_requested = true;
    }
  }
}

void WeightGatherer::begin_pass(const Pass& pass) {
  const schedules::UnshardStep* const step = unshards_ ? unshards_->before_pass() : nullptr;
  if (step == nullptr) return;
  if (recorder_ != nullptr) recorder_->change_weights(*step, device_.now);
  for (const std::uint16_t stage : step->unshard)
    gather_stage({.stage = stage,
                  .iteration = device_.job.schedule.iteration_of(pass),
                  .pass = PassOfStage{pass.kind, pass.microbatch}});
}

std::uint32_t WeightGatherer::parts(const Pass& pass) const {
  if (pending_.empty() || !pending_.contains(key_of(pass))) return 0;
  return device_.replica_groups.weight_parts(pass.stage);
}

double WeightGatherer::wait(const Pass& pass, std::uint32_t part, double now) {
  const Key key = key_of(pass);
  const auto it = pending_.find(key);
  const double time = std::max(now, device_.finish(it->second[part]));
  waited_ += time - now;
  if (gathers_by_pass() && part == 0) {
    in_use_.insert(key);
    if (recorder_ != nullptr) recorder_->hold_weights(pass.stage, time);
  }
  device_.now = time;
  const std::uint32_t parts = device_.replica_groups.weight_parts(pass.stage);
  const std::uint32_t next = part + device_.replica_groups.parts_ahead(pass.stage);
  if (part + 1 == parts)
    pending_.erase(it);
  else if (gathers_by_pass() && next < parts)
    gather(pass, next);
  return time;
}

void WeightGatherer::end_pass(const Pass& pass, double now) {
  if (!unshards_) return drop(pass, now);
  const schedules::UnshardStep* const step = unshards_->after_pass();
  if (step != nullptr && recorder_ != nullptr) recorder_->change_weights(*step, now);
}

void WeightGatherer::drop(const Pass& pass, double now) {
  const workload::Conditions& conditions = device_.job.conditions;
  if (in_use_.empty() || !conditions.drops_after(pass.kind)) return;
  Key key = key_of(pass);
  if (!conditions.reshards) key.pass->kind = PassKind::forward;  // the pass that gathered them
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
  if (deferred_) prefetch(*std::exchange(deferred_, std::nullopt));
}

}  // namespace pipewright::execution
