#include "sim/goodput/setting.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::goodput {

double flow_seconds(const Setting& setting, double rate) {
  return setting.bytes / (setting.network > 0 ? std::min(rate, setting.network) : rate);
}

double stall(const Setting& setting) {
  if (setting.mode != config::Goodput::Mode::sync) return setting.copy;
  return flow_seconds(setting, setting.storage);
}

std::uint32_t replicas_of(const Setting& setting, std::uint32_t nodes) {
  const double replicas = static_cast<double>(nodes) * setting.replicas / setting.nodes;
  return static_cast<std::uint32_t>(std::ceil(replicas - 1e-9));
}

double planned_part(const Setting& setting, double restart) {
  const double takes = flow_seconds(setting, setting.storage) + setting.planned_lasts + restart;
  return std::min(1.0, takes / setting.planned_every);
}

double interruption_rate(const Setting& setting) {
  double rate = setting.corruption_rate;
  for (const FailureKind& kind : setting.failures) rate += kind.rate;
  if (!setting.trace.empty() && setting.trace.back().at > 0)
    rate += static_cast<double>(setting.trace.size()) / setting.trace.back().at *
            (setting.trace_share > 0 ? setting.trace_share : 1);
  return rate;
}

}  // namespace pipewright::goodput
