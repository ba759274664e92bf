#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "schedules/families/families.hpp"
#include "schedules/families/fitted.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {

using Op = Script::Op;

constexpr Op f0{PassKind::forward, 0}, f1{PassKind::forward, 1};
constexpr Op i0{PassKind::input_grad, 0}, i1{PassKind::input_grad, 1};
constexpr Op w0{PassKind::weight_grad, 0}, w1{PassKind::weight_grad, 1};

// Returns the passes of one device. The rule needs at least 2p-1 microbatches; for fewer, it is
// followed as if there were that many, and passes of the missing ones are left out.
Program one_device(std::uint32_t device, std::uint32_t devices, std::uint32_t microbatches) {
  const std::uint32_t n = std::max(2 * devices - 1, microbatches);
  const std::uint32_t behind = devices - device;  // Includes the device itself.
  Script script({Script::Chunk{static_cast<std::uint16_t>(device), 0},
                 Script::Chunk{static_cast<std::uint16_t>(2 * devices - 1 - device), 0}},
                1, microbatches);
  script.run(2 * behind - 1, {f0});
  script.run(device, {f1, f0});
  script.run(behind, {f1, i1, w1});
  script.run(n - (2 * devices - 1 - device), {f0, i0, w0, f1, i1, w1});
  script.run(behind - 1, {i0, w0, f1, i1, w1});
  script.run(device, {i0, i1});
  script.run(behind, {i0, w0});
  script.run(device, {w1});
  script.run(device, {w0});
  return script.finish();
}

// Returns the best order for the given times, improved from two starting points: the greedy
// planner, and the rule without times. p microbatches are in flight; if I frees a part of their
// activations, more may be, where that shortens the plan.
std::optional<Plan> fitted_plan(const Parameters& parameters) {
  const Routes routes = Routes::v_shape(parameters.devices);
  Order by_hand;
  for (std::uint32_t device = 0; device < parameters.devices; ++device)
    by_hand.push_back(passes_of(one_device(device, parameters.devices, parameters.microbatches)));
  std::optional<Plan> best;
  std::vector<double> releases{0};
  if (parameters.input_grad_releases > 0) releases.push_back(parameters.input_grad_releases);
  for (const double part : releases) {
    constexpr std::int64_t whole = 1 << 20;  // Activations of one chunk, in the unit of the memory.
    const auto early = static_cast<std::int64_t>(std::ceil(part * whole));
    const Pipeline pipeline{
        .routes = routes,
        .devices = parameters.devices,
        .microbatches = parameters.microbatches,
        .times = stage_times(parameters, routes),
        .hop = parameters.hop,
        .memory = {.held = std::vector<std::int64_t>(routes.stages(), whole),
                   .released_by_input_grad = std::vector<std::int64_t>(routes.stages(), early),
                   .limit = std::vector<std::int64_t>(parameters.devices,
                                                      2 * whole * parameters.devices)}};
    std::vector<Order> orders;
    if (part == 0) orders.push_back(by_hand);
    if (auto order = greedy_v(pipeline, part)) orders.push_back(std::move(*order));
    auto plan = fitted(pipeline, orders);
    if (plan && (!best || better(*plan, *best, Objective::span))) best = std::move(plan);
  }
  return best;
}

}  // namespace

// ZB-V (Qi et al. 2024, arXiv 2401.10241, section 6; by the rule of PyTorch's
// ScheduleZBVZeroBubble). For F = I = W and m >= 2p-1: bubble (p-1)F/2, none of it between a
// device's first and last pass; p microbatches in flight.
Schedule zb_v(const Parameters& parameters) {
  const auto plan = has_times(parameters) ? fitted_plan(parameters) : std::nullopt;
  return with_programs(without_programs("zb-v", parameters, Routes::v_shape(parameters.devices)),
                       [&](std::uint32_t device) {
                         if (plan) return fold(plan->order[device]);
                         return one_device(device, parameters.devices, parameters.microbatches);
                       });
}

}  // namespace pipewright::schedules
