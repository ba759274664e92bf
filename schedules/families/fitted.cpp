#include "schedules/families/fitted.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "schedules/blocks/build.hpp"
#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

bool has_times(const Parameters& parameters) {
  return parameters.hop > 0 || !parameters.device_times[PassKind::forward].empty();
}

PassTimes stage_times(const Parameters& parameters, const Routes& routes) {
  PassTimes times;
  const std::uint32_t stages = routes.stages();
  const double share = static_cast<double>(parameters.devices) / stages;
  for (const PassKind kind : {PassKind::forward, PassKind::input_grad, PassKind::weight_grad}) {
    const std::vector<double>& durations = parameters.device_times[kind];
    if (!durations.empty() && durations.size() != parameters.devices && durations.size() != stages)
      throw std::logic_error("expected times for every device or for every stage");
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      times[kind].push_back(durations.empty() ? share
                            : durations.size() == stages
                                ? durations[stage]
                                : durations[routes.device(stage, 0)] * share);
  }
  return times;
}

std::optional<Plan> fitted(const Pipeline& pipeline, const std::vector<Order>& orders) {
  constexpr std::size_t most_passes = 1U << 15U;
  constexpr double rounding = 1 + 1e-9;
  constexpr int rounds = 1;  // More rounds hardly shorten it.
  // Transfer times with which orders are planned, in mean forward passes.
  constexpr std::array planned_hops{0.0, 1.0 / 16, 1.0 / 4};
  const Justifier justifier(pipeline);
  std::vector<Plan> plans;  // Orders that run within memory.
  for (const Order& order : orders)
    if (Plan plan = justifier.plan(order); std::isfinite(plan.makespan))
      plans.push_back(std::move(plan));
  if (plans.empty()) return std::nullopt;
  const auto before = [](const Plan& a, const Plan& b) { return better(a, b, Objective::span); };
  const double latest = plans.back().makespan * rounding;
  if (std::size_t{3} * pipeline.routes.stages() * pipeline.microbatches <= most_passes) {
    const std::size_t seeds = plans.size();
    for (std::size_t i = 0; i < seeds; ++i)
      plans.push_back(justifier.improve(plans[i], Pull::fitting, Objective::span, rounds));
    // Plans do not know all waits of a run, which make its transfers longer, and an order for
    // longer transfers may also be better for shorter ones. So orders for other transfer times are
    // tried, too. These times are the same for every pipeline, so that a different transfer time of
    // the pipeline chooses from the same orders.
    if (pipeline.hop > 0) {
      const std::vector<double>& forward = pipeline.times[PassKind::forward];
      const double mean = std::accumulate(forward.begin(), forward.end(), 0.0) /
                          static_cast<double>(forward.size());
      Pipeline planned = pipeline;
      const Justifier planned_justifier(planned);
      for (const double share : planned_hops) {
        planned.hop = share * mean;
        for (std::size_t i = 0; i < seeds; ++i) {
          const Plan start = planned_justifier.plan(plans[i].order);
          const Plan improved =
              planned_justifier.improve(start, Pull::fitting, Objective::span, rounds);
          if (Plan plan = justifier.plan(improved.order); std::isfinite(plan.makespan))
            plans.push_back(std::move(plan));
        }
      }
    }
  }
  std::erase_if(plans, [&](const Plan& plan) { return plan.makespan > latest; });
  return std::move(*std::ranges::min_element(plans, before));
}

Schedule fitted_block(const BuildingBlock& block, const Parameters& parameters) {
  Schedule schedule = build(block, parameters.microbatches);
  if (has_times(parameters)) {
    const std::uint32_t stages = block.routes.stages();
    const Pipeline pipeline{
        .routes = block.routes,
        .devices = block.devices,
        .microbatches = parameters.microbatches,
        .times = stage_times(parameters, block.routes),
        .hop = parameters.hop,
        .memory = {.held = std::vector<std::int64_t>(stages, 1),
                   .released_by_input_grad = std::vector<std::int64_t>(stages, 0),
                   .limit = std::vector<std::int64_t>(block.devices, block.peak.value())}};
    Order published;
    for (const Program& program : schedule.programs) published.push_back(passes_of(program));
    const auto plan =
        fitted(pipeline, {order_of(repeat(block, parameters.microbatches)), std::move(published)});
    if (plan)
      for (std::uint32_t device = 0; device < block.devices; ++device)
        schedule.programs[device] = fold(plan->order[device]);
  }
  set_iterations(schedule, parameters.iterations);
  return schedule;
}

}  // namespace pipewright::schedules
