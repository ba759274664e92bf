#include "sim/execution/device.hpp"

#include <algorithm>

namespace pipewright::execution {

namespace sg4 = cluster::sg4;
using schedules::Pass;
using schedules::PassKind;

Device::Device(const Job& job, ReplicaDevice who, double epoch, Synchronizer& others,
               trace::Sink& sink)
    : job_(job),
      self_(who),
      epoch_(epoch),
      others_(others),
      replica_groups_(others.replica_groups()),
      sink_(who.replica == 0 ? &sink : nullptr),
      at_(job.schedule.programs[who.device]),
      clock_(job.conditions.communication.overlap_slowdown, epoch),
      gradients_made_(job.schedule, who.device) {
  if (sink_ != nullptr) recorder_.emplace(job, who.device, sink);
}

void Device::run(const Network& network) {
  fetch_weights(0);
  prefetch_weights(at_);
  for (; !at_.done(); at_.next()) {
    const Pass pass = at_.pass();
    schedules::PassSpan span = wait_for_input(pass, now_, network);
    const double ready = std::max(now_, span.ready);
    if (!pass.fused) {
      const Ran ran = compute(pass, nullptr, ready);
      span.start = ran.start;
      span.end = ran.end;
      now_ = span.released = send_output(pass, span.end, network);
      if (recorder_) recorder_->record(pass, span);
      count(pass);
      continue;
    }

    // The two inputs are received, and the two outputs sent, one after the other, to the last byte.
    const Pass partner = at_.following();
    at_partner_ = true;
    if (job_.p2p == schedules::P2p::rendezvous) catch_up(ready);
    schedules::PassSpan other = wait_for_input(partner, ready, network);
    at_partner_ = false;
    const Ran ran = compute(pass, &partner, std::max(ready, other.ready));
    span.start = other.start = ran.start;
    span.end = other.end = ran.end;
    span.released = send_output(pass, span.end, network);
    if (job_.p2p == schedules::P2p::blocking) catch_up(span.released);
    now_ = other.released = send_output(partner, span.released, network);
    if (recorder_) {
      recorder_->record(pass, span);
      recorder_->record(partner, other);
    }
    at_.next();
    count(pass);
    count(partner);
  }
}

double Device::send_output(const Pass& pass, double now, const Network& network) {
  double released = now;
  if (Channel* output = network.output_of(pass)) released = output->send(pass.microbatch, now);
  if (Channel* kept = network.kept_by(pass)) kept->send(pass.microbatch, now);
  return released;
}

schedules::PassSpan Device::wait_for_input(const Pass& pass, double now, const Network& network) {
  const Network::End& input = network.input_of(pass);
  if (input.channel == nullptr) return {};
  const Arrival arrival = input.channel->receive(pass.microbatch, now);
  if (input.crosses && sink_ != nullptr)
    sink_->transfer({.source = input.source,
                     .destination = self_.device,
                     .stage = input.stage,
                     .microbatch = pass.microbatch,
                     .kind = pass.kind == PassKind::forward ? trace::TransferKind::activation
                                                            : trace::TransferKind::gradient,
                     .bytes = job_.costs.boundary_bytes * job_.ranks_per_stage(),
                     .posted = arrival.posted,
                     .start = arrival.start,
                     .end = arrival.end});
  return {.sent = arrival.posted, .ready = arrival.end};
}

std::optional<Pass> Device::stands_at() const {
  if (at_.done()) return std::nullopt;
  return at_partner_ ? at_.following() : at_.pass();
}

}  // namespace pipewright::execution
