#include "support/plans.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "schedules/checks.hpp"
#include "support/timed.hpp"

namespace pipewright::tests {

using namespace schedules;

namespace {

Schedule to_schedule(const Pipeline& pipeline, const Order& order) {
  Schedule schedule{.name = "exact",
                    .devices = pipeline.devices,
                    .chunks = pipeline.routes.stages() / pipeline.devices,
                    .microbatches = pipeline.microbatches,
                    .recomputed = pipeline.recomputed,
                    .routes = pipeline.routes,
                    .programs = {}};
  for (const auto& passes : order) schedule.programs.push_back(fold(passes));
  return schedule;
}

}  // namespace

void make_uneven(Pipeline& pipeline) {
  const std::uint32_t stages = pipeline.routes.stages();
  for (auto& of_kind : pipeline.times.of_stage) of_kind.assign(stages, 0);
  for (std::uint32_t s = 0; s < stages; ++s) {
    const auto of = [&](PassKind kind) -> double& {
      return pipeline.times.of_stage[static_cast<std::size_t>(kind)][s];
    };
    of(PassKind::forward) = of(PassKind::recompute) = s % 3 == 0 ? 2 : 1;
    of(PassKind::input_grad) = s % 3 == 1 ? 2 : 1;
    of(PassKind::weight_grad) = s % 2 == 1 ? 2 : 1;
    of(PassKind::backward) = of(PassKind::input_grad) + of(PassKind::weight_grad);
  }
}

Plan one_at_a_time(const Pipeline& pipeline) {
  const std::uint32_t stages = pipeline.routes.stages();
  Order order(pipeline.devices);
  const auto run = [&](PassKind kind, std::uint32_t stage, std::uint32_t microbatch) {
    order[pipeline.routes.device(stage, 0)].push_back(
        {kind, static_cast<std::uint16_t>(stage), microbatch});
  };
  for (std::uint32_t k = 0; k < pipeline.microbatches; ++k) {
    for (std::uint32_t s = 0; s < stages; ++s) run(PassKind::forward, s, k);
    for (std::uint32_t s = stages; s-- > 0;) {
      if (!pipeline.recomputed.empty() && pipeline.recomputed[s]) run(PassKind::recompute, s, k);
      run(PassKind::input_grad, s, k);
      run(PassKind::weight_grad, s, k);
    }
  }
  return Justifier(pipeline).plan(order);
}

void check_runs(const Pipeline& pipeline, const Plan& plan) {
  const Schedule schedule = to_schedule(pipeline, plan.order);
  CHECK_NOTHROW(check_complete(schedule));
  CHECK(timed(schedule, pipeline.times, pipeline.hop).makespan == Approx(plan.makespan));
  for (std::uint32_t device = 0; device < pipeline.devices; ++device) {
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (const Pass& pass : plan.order[device]) {
      if (takes_activations(schedule, pass)) held += pipeline.memory.held[pass.stage];
      peak = std::max(peak, held);
      const std::int64_t early = pipeline.memory.released_by_input_grad[pass.stage];
      if (pass.kind == PassKind::input_grad) held -= early;
      if (ends_microbatch(pass.kind)) held -= pipeline.memory.held[pass.stage] - early;
    }
    CHECK(peak <= pipeline.memory.limit[device]);
    CHECK(held == 0);
  }
}

}  // namespace pipewright::tests
