#include "sim/evaluation/refusals.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::evaluation {
namespace {

config::JobSizes sizes_of(const config::Scenario& scenario, const schedules::Routes* routes) {
  const config::Parallel& parallel = scenario.parallel;
  config::JobSizes sizes{.tp = parallel.tp.value,
                         .cp = parallel.cp.value,
                         .pp = scenario.devices.value,
                         .layers = scenario.model ? scenario.model->value.layers : 0,
                         .microbatches = scenario.microbatches.value};
  if (std::uint64_t{parallel.dp.value} * parallel.cp.value > 1) sizes.zero = parallel.zero;
  sizes.stages = routes == nullptr ? sizes.pp : routes->stages();
  if (routes == nullptr) return sizes;
  const std::uint32_t stages = routes->stages() * routes->count();
  if (stages % sizes.pp != 0) return sizes;  // only a schedule file places stages so unevenly
  sizes.stages_per_device = stages / sizes.pp;
  sizes.is_looped = *routes == schedules::Routes::looped(sizes.pp, sizes.stages_per_device);
  return sizes;
}

}  // namespace

std::vector<Refusal> refusals(const config::Scenario& scenario, const schedules::Routes* routes) {
  const config::Stack& stack = scenario.training.stack;
  std::vector<Refusal> broken;
  if (stack.rules.none()) return broken;
  const config::JobSizes sizes = sizes_of(scenario, routes);
  for (std::size_t i = 0; i < config::stack_rules.size(); ++i) {
    if (!stack.rules.test(i)) continue;
    const config::StackRule& rule = config::stack_rules[i];
    if (const std::string violation = rule.violation(sizes); !violation.empty())
      broken.push_back(
          {fmt::format("{} refuses this job: {}, and {}",
                       stack.name.empty() ? "the stack" : analysis::printable(stack.name),
                       rule.help, violation),
           std::string(rule.remedy)});
  }
  return broken;
}

}  // namespace pipewright::evaluation
