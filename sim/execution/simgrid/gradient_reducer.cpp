#include "sim/execution/simgrid/gradient_reducer.hpp"

#include <algorithm>

#include "sim/workload/by_stage.hpp"

namespace pipewright::execution {

using schedules::Pass;

GradientReducer::GradientReducer(DeviceContext& device) : device_(device) {
  const schedules::Routes& routes = device.job.schedule.routes;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    if (std::ranges::binary_search(workload::devices_of(routes, stage), device.self.device))
      stages_.push_back(stage);
}

bool GradientReducer::completes_stage(const Pass& pass) const {
  if (!adds_weight_gradients(pass.kind)) return false;
  const schedules::Schedule& schedule = device_.job.schedule;
  const schedules::Routes& routes = schedule.routes;
  std::uint32_t total = 0;
  for (std::uint32_t route = 0; route < routes.count(); ++route)
    if (routes.device(pass.stage, route) == device_.self.device)
      total += workload::microbatches_of(routes, route, schedule.microbatches * schedule.slices) *
               schedule.gradient_passes(pass.stage);
  const auto it = added_.find({schedule.iteration_of(pass), pass.stage});
  return (it == added_.end() ? 0 : it->second) + 1 == total;
}

bool GradientReducer::completes_gradients(const Pass& pass) const {
  if (!device_.replica_groups.has(pass.stage)) return false;
  return completes_stage(pass) || (device_.job.conditions.zero >= 2 && ends_microbatch(pass.kind));
}

std::uint32_t GradientReducer::parts(const Pass& pass) const {
  return device_.job.conditions.communication.overlap_grad_reduce && completes_gradients(pass)
             ? device_.replica_groups.parts(pass.stage)
             : 0;
}

void GradientReducer::reduce(const Pass& pass, std::uint32_t part, double now) {
  device_.catch_up(now);
  PartOfStage reduced_part{.stage = pass.stage,
                           .iteration = device_.job.schedule.iteration_of(pass),
                           .part = part,
                           .pass = {}};
  // Devices that hold the same stage finish it with different microbatches, so that the pass
  // identifies the reduction only where each pass has its own.
  const workload::Conditions& conditions = device_.job.conditions;
  if (conditions.zero >= 2) {
    reduced_part.pass = PassOfStage{pass.kind, pass.microbatch};
    reduced_part.with_copies = !conditions.sums_copies_once || completes_stage(pass);
  }
  pending_.push_back({device_.synchronizer.gradients(device_.self, reduced_part, &device_.clock),
                      {.device = device_.self.device,
                       .stage = reduced_part.stage,
                       .iteration = reduced_part.iteration,
                       .kind = trace::CollectiveKind::reduce_gradients,
                       .bytes = device_.replica_groups.gradient_bytes(pass.stage),
                       .posted = now}});
}

void GradientReducer::reduce_all(const Pass& pass, double now) {
  for (std::uint32_t part = 0; part < device_.replica_groups.parts(pass.stage); ++part)
    reduce(pass, part, now);
}

std::optional<std::uint32_t> GradientReducer::add(const Pass& pass) {
  if (!adds_weight_gradients(pass.kind)) return std::nullopt;
  const workload::Conditions& conditions = device_.job.conditions;
  if (!conditions.communication.overlap_grad_reduce && completes_gradients(pass)) {
    if (conditions.zero >= 2)
      reduce_all(pass, device_.now);
    else
      unreduced_.push_back(pass);
  }
  const std::uint32_t iteration = device_.job.schedule.iteration_of(pass);
  if (!completes_stage(pass)) {
    ++added_[{iteration, pass.stage}];
    return std::nullopt;
  }
  added_.erase({iteration, pass.stage});
  if (++complete_[iteration] < stages_.size()) return std::nullopt;
  complete_.erase(iteration);
  return iteration;
}

double GradientReducer::finish() {
  for (const Pass& pass : unreduced_) reduce_all(pass, device_.now);
  unreduced_.clear();
  double reduced = device_.now;
  for (PendingCollective& pending : pending_) reduced = std::max(reduced, device_.finish(pending));
  pending_.clear();
  return reduced;
}

}  // namespace pipewright::execution
