#include "schedules/deadlock.hpp"

#include <utility>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

std::string awaited_input(const Schedule& schedule, const Pass& at) {
  if (at.kind == PassKind::output)
    return fmt::format("the activations of F of microbatch {} on the last stage", at.microbatch);
  if (at.kind == PassKind::output_grad)
    return fmt::format("S of microbatch {} on every device", at.microbatch);
  if (schedule.barriers > 0 && at.kind != PassKind::forward && at.stage + 1U == schedule.stages())
    return fmt::format("{} of microbatch {} on every device",
                       letter(schedule.barriers == 1 ? PassKind::output : PassKind::output_grad),
                       at.microbatch);
  Pass source = at;
  if (at.kind == PassKind::forward) {
    --source.stage;
    return fmt::format("the activations of {} (device {})", describe(source),
                       schedule.routes.device(source.stage, at.microbatch));
  }
  ++source.stage;
  return fmt::format("the gradient of microbatch {} from stage {} (device {})", at.microbatch,
                     source.stage, schedule.routes.device(source.stage, at.microbatch));
}

std::string message(const Schedule& schedule, const std::vector<Blocked>& blocked) {
  std::string text = fmt::format("{}: deadlock: {} of {} devices wait forever", schedule.name,
                                 blocked.size(), schedule.devices);
  for (const Blocked& device : blocked)
    text += fmt::format("\n  device {} at {} waits for {}", device.device, describe(device.at),
                        awaited_input(schedule, device.at));
  return text;
}

}  // namespace

Deadlock::Deadlock(const Schedule& schedule, std::vector<Blocked> blocked)
    : Error(message(schedule, blocked)), blocked_(std::move(blocked)) {}

}  // namespace pipewright::schedules
