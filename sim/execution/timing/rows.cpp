#include "sim/execution/timing/rows.hpp"

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;
using schedules::PassSpan;

TimingRows::TimingRows(const Job& job, const ReplicaGroups& replica_groups, trace::Sink& sink)
    : job_(job),
      replica_groups_(replica_groups),
      sink_(sink),
      first_of_pair_(job.schedule.devices) {
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    recorders_.emplace_back(job, device, sink);
}

void TimingRows::pass(std::uint32_t device, Pass pass, const PassSpan& span,
                      const schedules::HopTimes& hops) {
  pass.microbatch += first_microbatch_;
  transfer(device, pass, span, hops);
  Recorder& recorder = recorders_[device];
  recorder.record(pass, span);
  if (!job_.gathers_for_passes()) return;
  std::optional<Pass>& first = first_of_pair_[device];
  if (pass.fused) {
    first = pass;
    return;
  }
  if (first && job_.conditions.drops_after(first->kind))
    recorder.drop_weights(first->stage, span.released);
  first.reset();
  if (job_.conditions.drops_after(pass.kind)) recorder.drop_weights(pass.stage, span.released);
}

void TimingRows::transfer(std::uint32_t device, const Pass& pass, const PassSpan& span,
                          const schedules::HopTimes& hops) {
  const bool forward = pass.kind == PassKind::forward;
  const bool has_input =
      forward ? pass.stage > 0
              : schedules::sends_gradient(pass.kind) && pass.stage + 1U < job_.schedule.stages();
  if (!has_input) return;
  const std::uint32_t from = forward ? pass.stage - 1U : pass.stage + 1U;
  const std::uint32_t source = job_.schedule.routes.device(from, pass.microbatch);
  if (source == device) return;
  sink_.transfer({.source = source,
                  .destination = device,
                  .stage = from,
                  .microbatch = pass.microbatch,
                  .kind = forward ? trace::TransferKind::activation : trace::TransferKind::gradient,
                  .bytes = job_.hop_bytes(device),
                  .posted = span.sent,
                  .start = span.ready - hops(source, device),
                  .end = span.ready});
}

void TimingRows::collective(trace::CollectiveRow row) {
  row.iteration = iteration_;
  switch (row.kind) {
    case trace::CollectiveKind::reduce_gradients:
      row.bytes = replica_groups_.gradient_bytes(row.stage);
      break;
    case trace::CollectiveKind::gather_weights:
      row.bytes = replica_groups_.weight_bytes(row.stage);
      break;
    case trace::CollectiveKind::tie_embeddings:
      row.bytes = replica_groups_.embedding_bytes();
      break;
  }
  sink_.collective(row);
}

void TimingRows::wait(trace::WaitRow row) {
  row.iteration = iteration_;
  sink_.wait(row);
}

void TimingRows::step(trace::StepRow row) {
  row.iteration = iteration_;
  recorders_[row.device].step(row.synchronized, row.updated);
  sink_.step(row);
}

}  // namespace pipewright::execution
