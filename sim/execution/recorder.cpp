#include "sim/execution/recorder.hpp"

namespace pipewright::execution {

Recorder::Recorder(const Job& job, std::uint32_t device, trace::Sink& sink)
    : job_(job), device_(device), sink_(sink), ledger_(job, device) {
  for (std::size_t i = 0; i < ledger_.held().size(); ++i)
    if (ledger_.held()[i] > 0) report(static_cast<trace::MemoryCategory>(i), 0);
}

void Recorder::record(const schedules::Pass& pass, const schedules::PassSpan& span) {
  const schedules::Schedule& schedule = job_.schedule;
  sink_.pass({.device = device_,
              .stage = pass.stage,
              .chunk = schedule.routes.chunk(pass.stage, pass.microbatch),
              .microbatch = pass.microbatch,
              .iteration = schedule.iteration_of(pass),
              .kind = kind_in_trace(pass.kind),
              .sent = span.sent,
              .ready = span.ready,
              .start = span.start,
              .end = span.end,
              .released = span.released});
  if (pass.fused) {
    first_of_pair_ = pass;
    return;
  }
  const bool swapped = first_of_pair_ && counts_last(job_, *first_of_pair_, pass);
  if (first_of_pair_ && !swapped) count(*first_of_pair_, span.start, span.end);
  count(pass, span.start, span.end);
  if (swapped) count(*first_of_pair_, span.end, span.end);
  first_of_pair_.reset();
}

void Recorder::count(const schedules::Pass& pass, double start, double end) {
  ledger_.start(pass, [&](trace::MemoryCategory category) { report(category, start); });
  ledger_.end(pass, [&](trace::MemoryCategory category) { report(category, end); });
}

void Recorder::hold_weights(std::uint32_t stage, double time) {
  ledger_.hold_weights(stage);
  report(trace::MemoryCategory::gathered, time);
}

void Recorder::drop_weights(std::uint32_t stage, double time) {
  ledger_.drop_weights(stage);
  report(trace::MemoryCategory::gathered, time);
}

void Recorder::change_weights(const schedules::UnshardStep& step, double time) {
  for (const std::uint16_t stage : step.reshard) drop_weights(stage, time);
  for (const std::uint16_t stage : step.unshard) hold_weights(stage, time);
}

void Recorder::step(double start, double end) {
  if (job_.costs.state[device_].step == 0) return;
  ledger_.start_step();
  report(trace::MemoryCategory::working, start);
  ledger_.end_step();
  report(trace::MemoryCategory::working, end);
}

void Recorder::report(trace::MemoryCategory category, double time) {
  sink_.memory(
      {.device = device_, .category = category, .time = time, .bytes = ledger_.held(category)});
}

}  // namespace pipewright::execution
