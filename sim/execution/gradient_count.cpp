#include "sim/execution/gradient_count.hpp"

namespace pipewright::execution {

GradientCount::GradientCount(const schedules::Schedule& schedule, std::uint32_t device)
    : schedule_(schedule) {
  const schedules::Routes& routes = schedule.routes;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (std::uint32_t route = 0; route < routes.count(); ++route)
      if (routes.device(stage, route) == device) stages_.push_back(stage);
}

std::uint32_t GradientCount::iteration_of(const schedules::Pass& pass) const {
  return pass.microbatch / (schedule_.microbatches * schedule_.slices);
}

bool GradientCount::completes_stage(const schedules::Pass& pass) const {
  if (!ends_microbatch(pass.kind)) return false;
  // A device sees the microbatches of its route.
  const schedules::Routes& routes = schedule_.routes;
  const std::uint32_t count = schedule_.microbatches * schedule_.slices;
  const std::uint32_t all =
      (count + routes.count() - 1 - routes.route_of(pass.microbatch)) / routes.count();
  const auto added = added_.find({iteration_of(pass), pass.stage});
  return (added == added_.end() ? 0 : added->second) + 1 == all;
}

std::optional<std::uint32_t> GradientCount::add(const schedules::Pass& pass) {
  if (!ends_microbatch(pass.kind)) return std::nullopt;
  const std::uint32_t iteration = iteration_of(pass);
  if (!completes_stage(pass)) {
    ++added_[{iteration, pass.stage}];
    return std::nullopt;
  }
  added_.erase({iteration, pass.stage});
  if (++complete_[iteration] < stages_.size()) return std::nullopt;
  complete_.erase(iteration);
  return iteration;
}

}  // namespace pipewright::execution
