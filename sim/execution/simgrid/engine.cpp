#include "sim/cluster/simgrid/engine.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <string>

#include "schedules/deadlock.hpp"
#include "sim/execution/run.hpp"
#include "sim/execution/simgrid/link_rows.hpp"
#include "sim/execution/simgrid/mirror.hpp"
#include "sim/execution/simgrid/network.hpp"
#include "sim/execution/simgrid/pass_runner.hpp"

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;
using schedules::PassSpan;

namespace {

// The actor of one device of one replica: walks its program, waits for inputs and weights,
// computes, sends, and ends each iteration with the optimizer's step.
class Device {
 public:
  // Rows of the first replica go to `sink`.
  Device(const Job& job, ReplicaDevice who, double epoch, Synchronizer& others, trace::Sink& sink);
  Device(const Device&) = delete;  // its parts refer to each other
  Device& operator=(const Device&) = delete;

  void run(const Network& network);
  // The pass at which it stands; none when it has done all.
  std::optional<schedules::Pass> stands_at() const;

 private:
  // When the input was sent and had arrived, for a device that is ready to receive it `now`.
  schedules::PassSpan wait_for_input(const schedules::Pass& pass, double now,
                                     const Network& network);
  // Returns when the device may go on.
  double send_output(const schedules::Pass& pass, double now, const Network& network);
  void run_pair(const schedules::Pass& pass, const schedules::Pass& partner,
                schedules::PassSpan span, double ready, const Network& network);
  void end_pass(const schedules::Pass& pass);
  void finish_iteration(std::uint32_t iteration);
  void tie_embeddings(trace::StepRow& row);

  DeviceContext context_;
  std::optional<Recorder> recorder_;  // none: nobody looks at this replica
  GradientReducer gradients_;
  WeightGatherer weights_;
  PassRunner passes_;
  schedules::PassCursor at_;
  bool at_partner_ = false;  // waits for the input of the second of a fused pair
};

Device::Device(const Job& job, ReplicaDevice who, double epoch, Synchronizer& others,
               trace::Sink& sink)
    : context_(job, who, epoch, others, sink),
      gradients_(context_),
      weights_(context_),
      passes_(context_, gradients_, weights_),
      at_(job.schedule.programs[who.device]) {
  if (context_.sink == nullptr) return;
  recorder_.emplace(job, who.device, sink);
  weights_.report_to(*recorder_);
}

void Device::run(const Network& network) {
  weights_.begin_iteration(0, gradients_.stages());
  weights_.prefetch(at_);
  for (; !at_.done(); at_.next()) {
    const Pass pass = at_.pass();
    PassSpan span = wait_for_input(pass, context_.now, network);
    const double ready = std::max(context_.now, span.ready);
    if (pass.fused) {
      run_pair(pass, at_.following(), span, ready, network);
      continue;
    }
    const PassRunner::Ran ran = passes_.run(at_, pass, nullptr, ready);
    span.start = ran.start;
    span.end = ran.end;
    context_.now = span.released = send_output(pass, span.end, network);
    if (recorder_) recorder_->record(pass, span);
    end_pass(pass);
  }
}

// The two inputs are received, and the two outputs sent, one after the other, to the last byte.
void Device::run_pair(const Pass& pass, const Pass& partner, PassSpan span, double ready,
                      const Network& network) {
  const schedules::P2p p2p = context_.job.p2p;
  at_partner_ = true;
  if (p2p == schedules::P2p::rendezvous) context_.catch_up(ready);
  PassSpan other = wait_for_input(partner, ready, network);
  at_partner_ = false;
  const PassRunner::Ran ran = passes_.run(at_, pass, &partner, std::max(ready, other.ready));
  span.start = other.start = ran.start;
  span.end = other.end = ran.end;
  span.released = send_output(pass, span.end, network);
  if (p2p == schedules::P2p::blocking) context_.catch_up(span.released);
  context_.now = other.released = send_output(partner, span.released, network);
  if (recorder_) {
    recorder_->record(pass, span);
    recorder_->record(partner, other);
  }
  at_.next();
  end_pass(pass);
  end_pass(partner);
}

double Device::send_output(const Pass& pass, double now, const Network& network) {
  double released = now;
  if (Channel* output = network.output_of(pass)) released = output->send(pass.microbatch, now);
  if (Channel* kept = network.kept_by(pass)) kept->send(pass.microbatch, now);
  return released;
}

PassSpan Device::wait_for_input(const Pass& pass, double now, const Network& network) {
  const Network::End& input = network.input_of(pass);
  if (input.channel == nullptr) return {};
  const Arrival arrival = input.channel->receive(pass.microbatch, now);
  if (input.crosses && context_.sink != nullptr)
    context_.sink->transfer(
        {.source = input.source,
         .destination = context_.self.device,
         .stage = input.stage,
         .microbatch = pass.microbatch,
         .kind = pass.kind == PassKind::forward ? trace::TransferKind::activation
                                                : trace::TransferKind::gradient,
         .bytes = context_.job.costs.boundary_bytes * context_.job.ranks_per_stage(),
         .posted = arrival.posted,
         .start = arrival.start,
         .end = arrival.end});
  return {.sent = arrival.posted, .ready = arrival.end};
}

std::optional<Pass> Device::stands_at() const {
  if (at_.done()) return std::nullopt;
  return at_partner_ ? at_.following() : at_.pass();
}

void Device::end_pass(const Pass& pass) {
  weights_.drop(pass, context_.now);
  if (context_.job.costs.traffic.empty()) return;
  if (const auto iteration = gradients_.add(pass)) finish_iteration(*iteration);
}

// The first and the last stage add up the gradients of the embedding that they share.
void Device::tie_embeddings(trace::StepRow& row) {
  PendingCollective pending{context_.others.embeddings(context_.self, row.iteration),
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
    const auto norm = context_.others.norm(iteration);
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
  // A rendezvous starts when the receiver is there, which computes until then.
  if (job.p2p == schedules::P2p::rendezvous) context_.catch_up(context_.now);
  row.gathering = weights_.take_waited();
  if (context_.sink != nullptr) context_.sink->step(row);
  if (iteration + 1 < job.schedule.iterations)
    weights_.begin_iteration(iteration + 1, gradients_.stages());
  weights_.set_updated(iteration);
}

}  // namespace

void simulate(const Job& job, trace::Sink& sink) {
  sg4::Engine& engine = cluster::engine();
  const double epoch = sg4::Engine::get_clock();
  const RankPlacement placement(job.cluster, job.hosts);
  const ReplicaGroups replica_groups(job);
  Wiring wiring(job, placement, replica_groups);
  const Mirror& mirror = begin_mirror(job.cluster);
  std::optional<LinkBook> book;
  if (sink.wants_links()) book.emplace(job.cluster);
  const LinkAccount account{.book = book ? &*book : nullptr, .epoch = epoch};
  CollectiveRunner runner(wiring, account);
  Synchronizer others(job, replica_groups, epoch, runner);
  std::deque<Device> devices;
  std::deque<Network> networks;  // of each replica
  std::exception_ptr failure;

  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica) {
    const Network& network = networks.emplace_back(job, wiring, replica, account);
    for (std::uint32_t index = 0; index < job.schedule.devices; ++index) {
      Device& device =
          devices.emplace_back(job, ReplicaDevice{replica, index}, epoch, others, sink);
      cluster::add_actor(mirror.host(job.host({replica, index})), "device-" + std::to_string(index),
                         [&device, &network, &failure] {
                           // An exception that left the actor would end the process. SimGrid's own,
                           // which kills an actor, is no std::exception and must pass.
                           try {
                             device.run(network);
                           } catch (const std::exception&) {
                             failure = std::current_exception();
                             sg4::Actor::kill_all();
                           }
                         });
    }
  }
  engine.run();
  if (failure) std::rethrow_exception(failure);

  // SimGrid returns from a deadlock as if all were well.
  std::vector<schedules::Blocked> blocked;  // of the first replica that is
  for (std::uint32_t index = 0; index < devices.size(); ++index) {
    if (index % job.schedule.devices == 0 && !blocked.empty()) break;
    if (const auto pass = devices[index].stands_at())
      blocked.push_back({index % job.schedule.devices, *pass});
  }
  if (!blocked.empty()) throw schedules::Deadlock(job.schedule, std::move(blocked));
  if (book) report_links(job, replica_groups, wiring, *book, sink);
}

}  // namespace pipewright::execution
