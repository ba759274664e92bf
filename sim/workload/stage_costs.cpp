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

schedules::HopTimes::Barriers StageCosts::exchanges() const {
  const auto longest = [&](schedules::PassKind kind, Collective collective) {
    double seconds = 0;
    for (const std::vector<TimedCall>& calls : timed_calls[static_cast<std::size_t>(kind)]) {
      double of_stage = 0;
      for (const TimedCall& call : calls)
        if (call.group == Group::pp && call.name == name_of(collective))
          of_stage += std::max(0.0, call.times * call.seconds - call.waits);
      seconds = std::max(seconds, of_stage);
    }
    return seconds;
  };
  return {.before_output = longest(schedules::PassKind::output, Collective::broadcast),
          .after_output = longest(schedules::PassKind::output, Collective::all_reduce),
          .after_output_grad = longest(schedules::PassKind::output_grad, Collective::all_reduce)};
}

}  // namespace pipewright::workload
