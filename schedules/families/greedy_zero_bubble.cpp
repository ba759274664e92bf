#include "schedules/families/greedy_zero_bubble.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/greedy_plan.hpp"

namespace pipewright::schedules {
namespace {

GreedyCosts costs_of(const Parameters& parameters, std::uint32_t limit) {
  const auto of = [&](PassKind kind) {
    const auto& given = parameters.device_times.of_stage[static_cast<int>(kind)];
    return given.empty() ? std::vector<double>(parameters.devices, 1) : given;
  };
  GreedyCosts costs{.forward = of(PassKind::forward),
                    .input_grad = of(PassKind::input_grad),
                    .weight_grad = of(PassKind::weight_grad),
                    .hop = parameters.hop,
                    .limit = static_cast<double>(limit),
                    .input_grad_releases = parameters.input_grad_releases};
  for (const auto* times : {&costs.forward, &costs.input_grad, &costs.weight_grad})
    if (times->size() != parameters.devices)
      throw std::logic_error("a greedy schedule needs F, I and W of every device");
  for (std::size_t j = 0; j < parameters.devices; ++j)
    costs.tolerance = std::max(costs.tolerance, 1e-9 * (costs.forward[j] + costs.input_grad[j]));
  return costs;
}

void check_size(const std::string& name, const Parameters& parameters) {
  constexpr std::uint64_t most = 1U << 26U;  // it keeps the times of all passes as it plans
  const std::uint64_t forwards = std::uint64_t{parameters.devices} * parameters.microbatches;
  if (forwards > most)
    throw Error(
        fmt::format("{}: {} devices x {} microbatches are more than the {} that can be "
                    "planned; zb-h1 and zb-h2 have no such bound",
                    name, parameters.devices, parameters.microbatches, most));
}

}  // namespace

Schedule greedy_zero_bubble(std::string name, const Parameters& parameters,
                            std::uint32_t memory_limit_in_microbatches) {
  check_size(name, parameters);
  if (memory_limit_in_microbatches == 0)
    throw Error(fmt::format("{}: a device must hold at least 1 microbatch", name));
  const GreedyCosts costs = costs_of(parameters, memory_limit_in_microbatches);
  std::optional<GreedyPlan> best;
  for (const bool fill_ends_in_time : {true, false})
    for (const bool gradients_first : {true, false})
      for (const bool weight_grad_over_wait : {true, false}) {
        GreedyPlan plan(costs, {fill_ends_in_time, gradients_first, weight_grad_over_wait},
                        parameters.microbatches);
        plan.run();
        if (!best || plan.longest_span() < best->longest_span() - costs.tolerance)
          best.emplace(std::move(plan));
      }
  Schedule schedule{.name = std::move(name),
                    .devices = parameters.devices,
                    .microbatches = parameters.microbatches,
                    .iterations = parameters.iterations,
                    .routes = Routes::looped(parameters.devices, 1),
                    .programs = {}};
  for (std::uint16_t device = 0; device < parameters.devices; ++device) {
    Program program = fold(best->passes(device));
    program.iterations = parameters.iterations;
    program.iteration_step = parameters.microbatches;
    schedule.programs.push_back(std::move(program));
  }
  return schedule;
}

// At the memory of 1F1B.
Schedule zb_1p(const Parameters& parameters) {
  return greedy_zero_bubble("zb-1p", parameters, parameters.devices);
}

// At twice that.
Schedule zb_2p(const Parameters& parameters) {
  return greedy_zero_bubble("zb-2p", parameters, 2 * parameters.devices);
}

}  // namespace pipewright::schedules
