#include "support/timed.hpp"

#include <algorithm>
#include <limits>

#include "schedules/timing.hpp"

namespace pipewright::tests {

using schedules::PassKind;

schedules::PassTimes uniform_times(const schedules::Schedule& schedule, double forward,
                                   double input_grad, double weight_grad) {
  schedules::PassTimes times;
  const auto set = [&](PassKind kind, double of_device) {
    times.of_stage[static_cast<int>(kind)].assign(schedule.stages(), of_device * schedule.share());
  };
  set(PassKind::forward, forward);
  set(PassKind::input_grad, input_grad);
  set(PassKind::weight_grad, weight_grad);
  set(PassKind::backward, input_grad + weight_grad);
  set(PassKind::output, 0);
  set(PassKind::output_grad, 0);
  return times;
}

ScheduleDurations timed(const schedules::Schedule& schedule, const schedules::PassTimes& times,
                        double hop, schedules::P2p mode) {
  struct Device {
    double first = std::numeric_limits<double>::infinity();
    double last = 0;
    double busy = 0;
  };
  std::vector<Device> devices(schedule.devices);
  const schedules::HopTimes hops(hop);
  schedules::Timing(schedule, times, hops, mode)
      .run([&](std::uint32_t index, const schedules::Pass& pass, const schedules::PassSpan& span) {
        Device& device = devices[index];
        device.first = std::min(device.first, span.start);
        device.last = std::max(device.last, span.end);
        if (!pass.fused)
          device.busy += span.end - span.start;  // The partner covers the whole time.
      });
  ScheduleDurations result;
  for (const Device& device : devices) {
    result.makespan = std::max(result.makespan, device.last);
    result.span = std::max(result.span, device.last - device.first);
    result.span_bubble = std::max(result.span_bubble, device.last - device.first - device.busy);
  }
  result.idle = result.makespan - devices.front().busy;
  return result;
}

}  // namespace pipewright::tests
