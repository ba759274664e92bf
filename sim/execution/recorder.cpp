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
  if (taken > 0) {
    activations_ += taken;
    report_activations(span.start);
  }
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
  std::uint64_t released = 0;
  if (pass.kind == schedules::PassKind::backward) released = stage.held;
  if (pass.kind == schedules::PassKind::input_grad) released = stage.released_by_input_grad;
  if (pass.kind == schedules::PassKind::weight_grad)
    released = stage.held - stage.released_by_input_grad;
  if (released > 0) {
    activations_ -= released;
    report_activations(span.end);
  }
}

void Recorder::report_activations(double time) {
  sink_.memory({.device = device_,
                .category = trace::MemoryCategory::activations,
                .time = time,
                .bytes = activations_});
}

}  // namespace pipewright::execution
