#include "sim/execution/recorder.hpp"

#include <algorithm>

namespace pipewright::execution {
namespace {

trace::PassKind kind_in_trace(schedules::PassKind kind) {
  switch (kind) {
    case schedules::PassKind::forward:
      return trace::PassKind::forward;
    case schedules::PassKind::input_grad:
      return trace::PassKind::input_grad;
    case schedules::PassKind::weight_grad:
      return trace::PassKind::weight_grad;
    case schedules::PassKind::recompute:
      return trace::PassKind::recompute;
    case schedules::PassKind::backward:
      break;
  }
  return trace::PassKind::backward;
}

}  // namespace

Recorder::Recorder(const Job& job, std::uint32_t device, trace::Sink& sink)
    : job_(job), device_(device), sink_(sink) {
  const workload::DeviceState& state = job.costs.state[device];
  const auto from_the_start = [&](trace::MemoryCategory category, std::uint64_t bytes) {
    if (bytes > 0)
      sink_.memory({.device = device, .category = category, .time = 0, .bytes = bytes});
  };
  from_the_start(trace::MemoryCategory::weights, state.weights * job.schedule.weight_versions);
  from_the_start(trace::MemoryCategory::gradients, state.gradients);
  from_the_start(trace::MemoryCategory::optimizer, state.optimizer);
  from_the_start(trace::MemoryCategory::buffers, state.buffers);
  from_the_start(trace::MemoryCategory::allowance, state.allowance);
}

void Recorder::record(const schedules::Pass& pass, const schedules::PassSpan& span) {
  const schedules::Schedule& schedule = job_.schedule;
  const workload::Activations& stage = job_.costs.activations[pass.stage];
  // A stage that recomputes keeps its input alone until R.
  const std::uint64_t input =
      schedule.recomputes(pass.stage) ? std::min(stage.held, job_.costs.boundary_bytes) : 0;
  std::uint64_t taken = 0;
  if (pass.kind == schedules::PassKind::forward) taken = input;
  if (schedules::takes_activations(schedule, pass)) taken = stage.held - input;
  if (taken > 0) report(trace::MemoryCategory::activations, span.start, activations_ += taken);
  if (stage.logits > 0 && pass.kind == schedules::PassKind::forward)
    report(trace::MemoryCategory::logits, span.start, logits_ += stage.logits);
  const bool works = stage.working > 0 && schedules::sends_gradient(pass.kind);
  if (works) report(trace::MemoryCategory::working, span.start, stage.working);
  sink_.pass({.device = device_,
              .stage = pass.stage,
              .chunk = schedule.routes.chunk(pass.stage, pass.microbatch),
              .microbatch = pass.microbatch,
              .iteration = pass.microbatch / (schedule.microbatches * schedule.slices),
              .kind = kind_in_trace(pass.kind),
              .sent = span.sent,
              .ready = span.ready,
              .start = span.start,
              .end = span.end,
              .released = span.released});
  if (works) report(trace::MemoryCategory::working, span.end, 0);
  if (stage.logits > 0 && schedules::sends_gradient(pass.kind))
    report(trace::MemoryCategory::logits, span.end, logits_ -= stage.logits);
  std::uint64_t released = 0;
  std::uint64_t made = 0;  // by I, for W
  if (pass.kind == schedules::PassKind::backward) released = stage.held;
  if (pass.kind == schedules::PassKind::input_grad) {
    released = stage.released_by_input_grad;
    made = stage.made_by_input_grad;
  }
  if (pass.kind == schedules::PassKind::weight_grad)
    released = stage.held - stage.released_by_input_grad + stage.made_by_input_grad;
  if (released != made)
    report(trace::MemoryCategory::activations, span.end, activations_ += made - released);
}

void Recorder::hold_weights(std::uint32_t stage, double time) {
  gathered_ += job_.costs.gathered.empty() ? 0 : job_.costs.gathered[stage];
  report(trace::MemoryCategory::gathered, time, gathered_);
}

void Recorder::drop_weights(std::uint32_t stage, double time) {
  gathered_ -= job_.costs.gathered.empty() ? 0 : job_.costs.gathered[stage];
  report(trace::MemoryCategory::gathered, time, gathered_);
}

void Recorder::report(trace::MemoryCategory category, double time, std::uint64_t bytes) {
  sink_.memory({.device = device_, .category = category, .time = time, .bytes = bytes});
}

}  // namespace pipewright::execution
