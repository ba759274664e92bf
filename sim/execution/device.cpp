#include "sim/execution/device.hpp"

#include <algorithm>

#include "sim/execution/noise.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;
using schedules::Pass;
using schedules::PassKind;

Device::Device(const Job& job, Unit unit, double epoch, Synchronizer& others, trace::Sink& sink)
    : job_(job),
      unit_(unit),
      epoch_(epoch),
      others_(others),
      copies_(others.copies()),
      sink_(unit.replica == 0 ? &sink : nullptr),
      at_(job.schedule.programs[unit.device]),
      pace_(job.conditions.communication.overlap_slowdown, epoch),
      gradients_made_(job.schedule, unit.device) {
  if (sink_ != nullptr) recorder_.emplace(job, unit.device, sink);
}

void Device::run(const Network& network) {
  fetch_weights(0);
  prefetch_weights(at_);
  for (; !at_.done(); at_.next()) {
    const Pass pass = at_.pass();
    schedules::PassSpan span = wait_for_input(pass, now_, network);
    span.start = wait_for_weights(pass, std::max(now_, span.ready));
    if (!pass.fused) {
      span.end = compute(pass, nullptr, span.start);
      now_ = span.released = send_output(pass, span.end, network);
      if (recorder_) recorder_->record(pass, span);
      count(pass);
      continue;
    }

    // The two inputs are received, and the two outputs sent, one after the other, to the last byte.
    const Pass partner = at_.following();
    at_partner_ = true;
    if (job_.p2p == schedules::P2p::rendezvous) catch_up(std::max(now_, span.ready));
    schedules::PassSpan other = wait_for_input(partner, std::max(now_, span.ready), network);
    other.start = wait_for_weights(partner, std::max(span.start, other.ready));
    at_partner_ = false;
    span.start = other.start;
    span.end = other.end = compute(pass, &partner, span.start);
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

double Device::seconds(const Pass& pass, const Pass* partner) const {
  const workload::StageCosts& costs = job_.costs;
  const double whole = partner == nullptr ? costs.times(pass) : costs.times(pass, *partner);
  double waits = 0;  // for others: no noise of this device
  if (job_.conditions.communication.detail == config::Detail::fast)
    for (const Pass* one : {&pass, partner})
      if (one != nullptr) waits += costs.waits_of(*one);
  waits = std::min(waits, whole);
  return (whole - waits) * noise(job_, unit_, pass) + waits;
}

double Device::compute(const Pass& pass, const Pass* partner, double start) {
  const double work = seconds(pass, partner);
  if (job_.costs.traffic.empty()) return pace_.advance(start, work);
  now_ = start;
  prefetch_weights(at_);
  const Pass& last = partner != nullptr && ends_microbatch(partner->kind) ? *partner : pass;
  // The gradients of a stage become whole layer by layer, from the last one on.
  const std::uint32_t parts =
      job_.conditions.communication.overlap_grad_reduce && completes_gradients(last)
          ? copies_.parts(last.stage)
          : 0;
  if (job_.conditions.communication.detail == config::Detail::full)
    return talk_within(pass, work, start, last, parts);
  double now = start;
  for (std::uint32_t part = 0; part < parts; ++part) {
    now = pace_.advance(now, work / parts);
    reduce(last, part, now);
  }
  return parts > 0 ? now : pace_.advance(start, work);
}

// Compute and collectives take turns; what can hide under compute runs beside it.
double Device::talk_within(const Pass& pass, double work, double now, const Pass& last,
                           std::uint32_t parts) {
  const auto& calls = job_.costs.traffic[pass.stage].inside[static_cast<std::size_t>(pass.kind)];
  std::uint64_t turns = 0;
  for (const workload::Call& call : calls) turns += call.times;
  if (turns == 0) now = pace_.advance(now, work);
  const double share = turns == 0 ? 0 : work / static_cast<double>(turns);
  std::uint32_t posted = 0;
  std::uint64_t turn = 0;
  for (const workload::Call& call : calls) {
    const double beside = std::min(share, call.hides_under / call.times);
    for (std::uint32_t i = 0; i < call.times; ++i) {
      now = pace_.advance(now, share - beside);
      catch_up(now);
      const auto meeting = others_.call(unit_, call, calls_++);
      const double until = pace_.advance(now, beside);
      meeting->wait();
      now = std::max(until, meeting->end_time());
      for (++turn; posted < parts && (posted + 1) * turns <= turn * parts; ++posted)
        reduce(last, posted, now);
    }
  }
  for (; posted < parts; ++posted) reduce(last, posted, now);
  return now;
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
                     .destination = unit_.device,
                     .stage = input.stage,
                     .microbatch = pass.microbatch,
                     .kind = pass.kind == PassKind::forward ? trace::TransferKind::activation
                                                            : trace::TransferKind::gradient,
                     .bytes = job_.costs.boundary_bytes * job_.lanes(),
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
