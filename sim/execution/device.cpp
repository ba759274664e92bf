#include "sim/execution/device.hpp"

#include <algorithm>

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

Device::Device(const Job& job, std::uint32_t index, double epoch, trace::Sink& sink)
    : job_(job),
      index_(index),
      epoch_(epoch),
      sink_(sink),
      recorder_(job, index, sink),
      at_(job.schedule.programs[index]) {}

void Device::run(const Network& network) {
  for (; !at_.done(); at_.next()) {
    const schedules::Pass pass = at_.pass();
    schedules::PassSpan span = wait_for_input(pass, now_, network);
    span.start = std::max(now_, span.ready);
    if (!pass.fused) {
      span.end = span.start + job_.costs.times(pass);
      // One sleep for the rest of the wait and the pass: nothing else happens here in between.
      sg4::this_actor::sleep_until(epoch_ + span.end);
      now_ = span.released = send_output(pass, span.end, network);
      recorder_.record(pass, span);
      continue;
    }

    const schedules::Pass partner = at_.following();
    at_partner_ = true;
    schedules::PassSpan other = wait_for_input(partner, std::max(now_, span.ready), network);
    at_partner_ = false;
    span.start = other.start = std::max(span.start, other.ready);
    span.end = other.end = span.start + job_.costs.times(pass, partner);
    sg4::this_actor::sleep_until(epoch_ + span.end);
    span.released = send_output(pass, span.end, network);
    now_ = other.released = send_output(partner, span.released, network);
    recorder_.record(pass, span);
    recorder_.record(partner, other);
    at_.next();
  }
}

double Device::send_output(const schedules::Pass& pass, double now, const Network& network) {
  double released = now;
  if (Channel* output = network.output_of(pass)) released = output->send(pass.microbatch, now);
  if (Channel* kept = network.kept_by(pass)) kept->send(pass.microbatch, now);
  return released;
}

schedules::PassSpan Device::wait_for_input(const schedules::Pass& pass, double now,
                                           const Network& network) {
  const Network::End& input = network.input_of(pass);
  if (input.channel == nullptr) return {};
  const Arrival arrival = input.channel->receive(pass.microbatch, now);
  if (input.crosses)
    sink_.transfer({.source = input.source,
                    .destination = index_,
                    .stage = input.stage,
                    .microbatch = pass.microbatch,
                    .kind = pass.kind == schedules::PassKind::forward
                                ? trace::TransferKind::activation
                                : trace::TransferKind::gradient,
                    .bytes = job_.costs.boundary_bytes,
                    .posted = arrival.posted,
                    .start = arrival.start,
                    .end = arrival.end});
  return {.sent = arrival.posted, .ready = arrival.end};
}

std::optional<schedules::Pass> Device::stands_at() const {
  if (at_.done()) return std::nullopt;
  return at_partner_ ? at_.following() : at_.pass();
}

}  // namespace pipewright::execution
