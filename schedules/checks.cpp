#include "schedules/checks.hpp"

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

// Progress of a microbatch on a stage: the last of its passes that has run.
enum class PassProgress : std::uint8_t { none, forwarded, gradient_sent, done, to_recompute };

bool advance_pass(PassProgress& progress, PassKind kind, bool recomputes) {
  const auto step = [&](PassProgress from, PassProgress to) {
    if (progress != from) return false;
    progress = to;
    return true;
  };
  switch (kind) {
    case PassKind::forward:
      return step(PassProgress::none,
                  recomputes ? PassProgress::to_recompute : PassProgress::forwarded);
    case PassKind::recompute:
      return step(PassProgress::to_recompute, PassProgress::forwarded);
    case PassKind::input_grad:
      return step(PassProgress::forwarded, PassProgress::gradient_sent);
    case PassKind::weight_grad:
      return step(PassProgress::gradient_sent, PassProgress::done);
    case PassKind::backward:
      return step(PassProgress::forwarded, PassProgress::done);
    case PassKind::output:
      return step(PassProgress::none, PassProgress::forwarded);
    case PassKind::output_grad:
      return step(PassProgress::forwarded, PassProgress::done);
  }
  return false;
}

[[noreturn]] void fail(const Schedule& schedule, std::uint32_t device, const Pass& pass,
                       const char* fault) {
  throw Error(fmt::format("{}: device {}: {} {}", schedule.name, device, describe(pass), fault));
}

// Checks that the two passes of each fused pair are adjacent in the body of the same loop, and that
// no pass belongs to two pairs.
void check_pairs(const Schedule& schedule, std::uint32_t device) {
  for (const Loop& loop : schedule.programs[device].loops)
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      if (!loop.body[i].fused) continue;
      if (i + 1 == loop.body.size() || loop.body[i + 1].fused)
        fail(schedule, device, loop.body[i], "is fused with no other pass");
      ++i;
    }
}

}  // namespace

void check_complete(const Schedule& schedule) {
  const std::size_t microbatches = schedule.total_microbatches();
  std::vector<PassProgress> progress(schedule.stages() * microbatches, PassProgress::none);
  std::vector<PassProgress> of_vocabulary;
  if (schedule.barriers > 0) of_vocabulary = progress;
  for (std::uint32_t device = 0; device < schedule.programs.size(); ++device) {
    check_pairs(schedule, device);
    for (PassCursor at(schedule.programs[device]); !at.done(); at.next()) {
      const Pass pass = at.pass();
      if (pass.stage >= schedule.stages() || pass.microbatch >= microbatches)
        fail(schedule, device, pass, "is outside the schedule");
      if (schedule.routes.device(pass.stage, pass.microbatch) != device)
        fail(schedule, device, pass, "belongs to another device");
      if (is_of_vocabulary(pass.kind) && !schedule.runs_vocabulary(pass.stage))
        fail(schedule, device, pass,
             schedule.barriers == 0 ? "needs a split vocabulary"
                                    : "must be counted on the first stage of the device");
      auto& progress_of_kind = is_of_vocabulary(pass.kind) ? of_vocabulary : progress;
      if (!advance_pass(progress_of_kind[pass.stage * microbatches + pass.microbatch], pass.kind,
                        schedule.recomputes(pass.stage)))
        fail(schedule, device, pass, "comes twice or before what it needs");
    }
  }
  for (std::size_t i = 0; i < progress.size(); ++i)
    if (progress[i] != PassProgress::done)
      throw Error(fmt::format("{}: microbatch {} is never finished on stage {}", schedule.name,
                              i % microbatches, i / microbatches));
  for (std::size_t i = 0; i < of_vocabulary.size(); ++i)
    if (schedule.runs_vocabulary(static_cast<std::uint32_t>(i / microbatches)) &&
        of_vocabulary[i] != PassProgress::done)
      throw Error(fmt::format("{}: microbatch {} lacks S or T on stage {}", schedule.name,
                              i % microbatches, i / microbatches));
}

}  // namespace pipewright::schedules
