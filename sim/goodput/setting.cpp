#include "sim/goodput/setting.hpp"

#include <algorithm>

namespace pipewright::goodput {

double stall(const Setting& setting) {
  if (setting.mode != config::Goodput::Mode::sync) return setting.copy;
  const double rate =
      setting.network > 0 ? std::min(setting.storage, setting.network) : setting.storage;
  return setting.bytes / rate;
}

double stops(const Setting& setting) {
  double rate = setting.corruption_rate;
  for (const FailureKind& kind : setting.failures) rate += kind.rate;
  if (!setting.trace.empty() && setting.trace.back().at > 0)
    rate += static_cast<double>(setting.trace.size()) / setting.trace.back().at;
  return rate;
}

}  // namespace pipewright::goodput
