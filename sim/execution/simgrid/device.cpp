#include "sim/execution/simgrid/device.hpp"

#include <algorithm>
#include <stdexcept>

#include "schedules/timing.hpp"

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;
using schedules::PassSpan;

Device::Device(const Job& job, ReplicaDevice copy, double epoch, Synchronizer& synchronizer,
               trace::Sink& sink, IterationCount* iterations)
    : context_(job, copy, epoch, synchronizer, sink),
      gradients_(context_),
      weights_(context_),
      passes_(context_, gradients_, weights_),
      at_(job.schedule.programs[copy.device]),
      passes_of_iteration_(job.schedule.programs[copy.device].size() / job.schedule.iterations),
      iterations_(iterations) {
  if (context_.sink == nullptr) return;
  recorder_.emplace(job, copy.device, sink);
  weights_.report_to(*recorder_);
}

void Device::run(const Network& network) {
  cluster::sg4::this_actor::sleep_until(context_.epoch);
  weights_.begin_iteration(0, gradients_.stages());
  weights_.prefetch(at_);
  for (; !at_.done(); at_.next()) {
    const Pass pass = at_.pass();
    if (!enters(pass)) {
      if (pass.fused) at_.next();
      continue;
    }
    weights_.begin_pass(pass);
    PassSpan span = wait_for_input(pass, context_.now, network);
    const double ready = std::max(context_.now, span.ready);
    if (pass.fused) {
      run_pair(pass, at_.following(), span, ready, network);
      continue;
    }
    const PassRunner::Interval interval = passes_.run(at_, pass, nullptr, ready);
    span.start = interval.start;
    span.end = interval.end;
    context_.now = span.released = send_output(at_, span.end, network);
    if (recorder_) recorder_->record(pass, span);
    end_pass(pass);
  }
}

bool Device::enters(const Pass& pass) {
  if (iterations_ == nullptr) return true;
  const schedules::Schedule& schedule = context_.job.schedule;
  const std::uint32_t iteration = schedule.iteration_of(pass);
  if (pass.fused && schedule.iteration_of(at_.following()) != iteration)
    throw std::logic_error("a fused pair joins passes of two different iterations");
  return iterations_->enter(iteration);
}

// A fused pair waits for the inputs of both passes, one after the other, and sends both outputs one
// after the other.
void Device::run_pair(const Pass& pass, const Pass& partner, PassSpan span, double ready,
                      const Network& network) {
  const schedules::P2p p2p = context_.job.p2p;
  at_partner_ = true;
  if (p2p == schedules::P2p::rendezvous) context_.catch_up(ready);
  PassSpan partner_span = wait_for_input(partner, ready, network);
  at_partner_ = false;
  const PassRunner::Interval interval =
      passes_.run(at_, pass, &partner, std::max(ready, partner_span.ready));
  span.start = partner_span.start = interval.start;
  span.end = partner_span.end = interval.end;
  span.released = send_output(at_, span.end, network);
  if (schedules::sender_waits(p2p, at_)) context_.catch_up(span.released);
  at_.next();
  context_.now = partner_span.released = send_output(at_, span.released, network);
  if (recorder_) {
    recorder_->record(pass, span);
    recorder_->record(partner, partner_span);
  }
  end_pass(pass);
  end_pass(partner);
}

double Device::send_output(const schedules::PassCursor& at, double now, const Network& network) {
  const Pass pass = at.pass();
  double released = now;
  if (Channel* output = network.output_of(pass))
    released = output->send(pass.microbatch, now, schedules::sender_waits(context_.job.p2p, at));
  if (Channel* stored_gradient = network.stored_gradient_of(pass))
    stored_gradient->send(pass.microbatch, now, false);
  network.exchange(pass, now);
  return released;
}

PassSpan Device::wait_for_input(const Pass& pass, double now, const Network& network) {
  const Network::End& input = network.input_of(pass);
  if (input.channel == nullptr) return {};
  const Arrival arrival = input.channel->receive(pass.microbatch, now);
  if (input.crosses && context_.sink != nullptr)
    context_.sink->transfer({.source = input.source,
                             .destination = context_.self.device,
                             .stage = input.stage,
                             .microbatch = pass.microbatch,
                             .kind = pass.kind == PassKind::forward
                                         ? trace::TransferKind::activation
                                         : trace::TransferKind::gradient,
                             .bytes = context_.job.hop_bytes(context_.self.device),
                             .posted = arrival.posted,
                             .start = arrival.start,
                             .end = arrival.end});
  return {.sent = arrival.posted, .ready = arrival.end};
}

std::optional<Pass> Device::current_pass() const {
  if (at_.done()) return std::nullopt;
  return at_partner_ ? at_.following() : at_.pass();
}

void Device::end_pass(const Pass& pass) {
  weights_.end_pass(pass, context_.now);
  if (!context_.job.costs.traffic.empty())
    if (const auto iteration = gradients_.add(pass)) finish_iteration(*iteration);
  if (iterations_ != nullptr) count(pass);
}

void Device::count(const Pass& pass) {
  const std::uint32_t iteration = context_.job.schedule.iteration_of(pass);
  if (++done_[iteration] < passes_of_iteration_) return;
  done_.erase(iteration);
  iterations_->ended(iteration, context_.now);
}

// The first and the last stage sum up the gradients of their shared embedding.
void Device::tie_embeddings(trace::StepRow& row) {
  PendingCollective pending{context_.synchronizer.embeddings(context_.self, row.iteration),
                            {.device = row.device,
                             .stage = gradients_.stages().front(),
                             .iteration = row.iteration,
                             .kind = trace::CollectiveKind::tie_embeddings,
                             .bytes = context_.replica_groups.embedding_bytes(),
                             .posted = context_.now}};
  if (pending.instance == nullptr) return;
  row.reduced = context_.finish(pending);
  context_.catch_up(row.reduced);
}

void Device::finish_iteration(std::uint32_t iteration) {
  const Job& job = context_.job;
  trace::StepRow row{.device = context_.self.device, .iteration = iteration, .start = context_.now};
  row.reduced = gradients_.finish();
  context_.catch_up(row.reduced);
  tie_embeddings(row);
  if (job.waits_for_norm()) {
    const auto norm = context_.synchronizer.norm(context_.self, iteration);
    norm->wait();
    context_.now =
        std::max(context_.now, norm->end_time() + context_.replica_groups.norm_latency());
  }
  row.synchronized = context_.now;
  if (!job.costs.optimizer_seconds.empty())
    context_.now +=
        job.costs.optimizer_seconds[context_.self.device] * job.straggler_factor(context_.self);
  row.updated = row.end = context_.now;
  if (job.conditions.gathers_after())
    context_.now = row.end = weights_.gather_after_step(iteration, gradients_.stages());
  // A rendezvous starts when the receiver is ready, so SimGrid's clock must reach the end of its
  // compute.
  if (job.p2p == schedules::P2p::rendezvous) context_.catch_up(context_.now);
  context_.synchronizer.ended(context_.self, iteration, row.end);
  row.gathering = weights_.take_waited();
  if (recorder_) recorder_->step(row.synchronized, row.updated);
  if (context_.sink != nullptr) context_.sink->step(row);
  if (iteration + 1 < job.schedule.iterations)
    weights_.begin_iteration(iteration + 1, gradients_.stages());
  weights_.set_updated(iteration);
}

}  // namespace pipewright::execution
