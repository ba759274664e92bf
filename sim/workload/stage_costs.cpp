#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

void StageCosts::slow_down(std::uint32_t stage, double factor, config::Detail detail) {
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    if (stage >= times.of_stage[kind].size()) continue;
    const schedules::Pass pass{static_cast<schedules::PassKind>(kind),
                               static_cast<std::uint16_t>(stage)};
    const double host = of(host_waits, pass);
    const double collectives = detail == config::Detail::fast ? of(collective_waits, pass) : 0;
    double& seconds = times.of_stage[kind][stage];
    const double kernels = std::max(0.0, seconds - std::max(host, collectives));
    seconds = factor * kernels + std::max(factor * host, collectives);
    if (host > 0) host_waits[kind][stage] *= factor;
    if (!launch_seconds[kind].empty()) launch_seconds[kind][stage] *= factor;
  }
}

}  // namespace pipewright::workload
