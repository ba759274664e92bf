#include "support/pipelines.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::tests {

schedules::Pipeline pipeline(const schedules::Routes& routes, std::uint32_t devices,
                             std::uint32_t microbatches, const std::array<double, 3>& times,
                             double hop, double memory, double early) {
  using schedules::PassKind;
  constexpr std::int64_t unit = 1 << 20;  // Memory of a microbatch on a whole device.
  const std::uint32_t stages = routes.stages();
  const double share = static_cast<double>(devices) / stages;
  schedules::PassTimes of_stages;
  const auto set = [&](PassKind kind, double of_device) {
    of_stages.of_stage[static_cast<int>(kind)].assign(stages, of_device * share);
  };
  set(PassKind::forward, times[0]);
  set(PassKind::input_grad, times[1]);
  set(PassKind::weight_grad, times[2]);
  set(PassKind::backward, times[1] + times[2]);
  const auto held = static_cast<std::int64_t>(std::floor(unit * share));
  return {
      .routes = routes,
      .devices = devices,
      .microbatches = microbatches,
      .times = of_stages,
      .hop = hop,
      .memory = {.held = std::vector<std::int64_t>(stages, held),
                 .released_by_input_grad = std::vector<std::int64_t>(
                     stages, static_cast<std::int64_t>(early * static_cast<double>(held))),
                 .limit = std::vector<std::int64_t>(
                     devices, static_cast<std::int64_t>(std::floor(memory / share + 1e-9)) * held)},
      .recomputed = {}};
}

double published_cells(double p, double L) {
  return 3 * p - 1 - 3 * L + std::max(3 * p, p - 1 + 2 * (1 + std::ceil(L / 2)));
}

}  // namespace pipewright::tests
