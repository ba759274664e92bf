#include "sim/execution/simgrid/network.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/execution/simgrid/mirror.hpp"

namespace pipewright::execution {
namespace {

// Queue of messages. A run has hundreds of thousands of channels, most of them with few messages at
// a time, so that an empty queue takes no memory of its own.
template <class Message>
class MessageQueue {
 public:
  bool empty() const { return first_ == messages_.size(); }
  auto begin() { return messages_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() { return messages_.end(); }
  void push(Message message) {
    if (messages_.size() == messages_.capacity() && first_ > messages_.size() / 2) {
      messages_.erase(messages_.begin(), begin());
      first_ = 0;
    }
    messages_.push_back(std::move(message));
  }
  Message take(typename std::vector<Message>::iterator position) {
    Message message = std::move(*position);
    if (position == begin())
      ++first_;
    else
      messages_.erase(position);
    return message;
  }

 private:
  std::vector<Message> messages_;
  std::size_t first_ = 0;  // messages before it have been taken
};

// Blocks the receiver of a channel until the next message.
class Wake {
 public:
  void signal() {
    if (std::exchange(is_awaited_, false)) semaphore_->release();
  }
  void wait() {
    if (semaphore_ == nullptr) semaphore_ = sg4::Semaphore::create(0);
    is_awaited_ = true;
    semaphore_->acquire();
  }

 private:
  bool is_awaited_ = false;
  sg4::SemaphorePtr semaphore_;
};

// Channel without contention: a message takes `latency` seconds, 0 between two passes of a device.
class LatencyChannel final : public Channel {
 public:
  LatencyChannel(double latency, schedules::P2p mode) : latency_(latency), mode_(mode) {}

  double send(std::uint32_t microbatch, double now, bool waits) override {
    queue_.push({microbatch, now});
    wake_.signal();
    return waits ? now + latency_ : now;
  }

  Arrival receive(std::uint32_t microbatch, double now) override {
    auto it = queue_.end();
    while ((it = std::find_if(queue_.begin(), queue_.end(), [&](const Message& message) {
              return message.microbatch == microbatch;
            })) == queue_.end())
      wake_.wait();
    const Message message = queue_.take(it);
    Arrival arrival{.posted = message.posted, .start = message.posted};
    if (mode_ == schedules::P2p::rendezvous && latency_ > 0)
      arrival.start = std::max(arrival.start, now);
    arrival.end = arrival.start + latency_;
    return arrival;
  }

 private:
  struct Message {
    std::uint32_t microbatch;
    double posted;
  };
  double latency_;
  schedules::P2p mode_;
  MessageQueue<Message> queue_;
  Wake wake_;
};

// Transfers of a channel's messages over SimGrid's links. They share links max-min fairly and are
// followed by the route's latency. Latency at the end needs no actor of its own, does not change
// arrivals on an idle network, and keeps the sharing fair.
struct FlowRoute {
  Mirror& mirror;
  std::vector<Transfer> transfers = {};  // of a message, all at once
  double latency = 0;                    // seconds
  LinkAccount account = {};              // record of the flows, with the start of the run
};

class FlowChannel final : public Channel {
 public:
  FlowChannel(FlowRoute route, schedules::P2p mode) : route_(std::move(route)), mode_(mode) {}

  double send(std::uint32_t microbatch, double now, bool waits) override {
    Message message{.microbatch = microbatch, .posted = now};
    if (mode_ != schedules::P2p::rendezvous) start(message);  // runs while the device continues
    const std::vector<sg4::CommPtr> flows = waits ? message.flows : std::vector<sg4::CommPtr>();
    queue_.push(std::move(message));
    wake_.signal();
    return waits ? finish(flows) : now;
  }

  Arrival receive(std::uint32_t microbatch, double) override {
    const auto early = std::find_if(early_.begin(), early_.end(), [&](const auto& message) {
      return message.first == microbatch;
    });
    if (early != early_.end()) {
      const Arrival arrival = early->second;
      early_.erase(early);
      return arrival;
    }
    while (true) {  // messages are received in the order of sending
      while (queue_.empty()) wake_.wait();
      Message message = queue_.take(queue_.begin());
      if (mode_ == schedules::P2p::rendezvous) start(message);
      Arrival arrival{.posted = message.posted};
      arrival.end = finish(message.flows);
      // SimGrid's clock may lag behind the device's by a rounding error.
      arrival.start =
          std::max(message.posted, message.flows.front()->get_start_time() - route_.account.epoch);
      for (std::size_t i = 0; i < message.flows.size(); ++i)
        route_.account.add(route_.transfers[i], message.flows[i]->get_start_time(),
                           message.flows[i]->get_finish_time());
      if (message.microbatch == microbatch) return arrival;
      early_.emplace_back(message.microbatch, arrival);
    }
  }

 private:
  struct Message {
    std::uint32_t microbatch = 0;
    double posted = 0;
    std::vector<sg4::CommPtr> flows;  // empty before the message starts
  };

  void start(Message& message) const {
    for (const Transfer& part : route_.transfers)
      message.flows.push_back(sg4::Comm::sendto_async(
          route_.mirror.host(part.source), route_.mirror.host(part.destination), part.bytes));
  }

  double finish(const std::vector<sg4::CommPtr>& flows) const {
    double last = 0;
    for (const sg4::CommPtr& flow : flows) {
      cluster::wait_for_end(flow);
      last = std::max(last, flow->get_finish_time());
    }
    return last - route_.account.epoch + route_.latency;
  }

  FlowRoute route_;
  schedules::P2p mode_;
  MessageQueue<Message> queue_;
  std::vector<std::pair<std::uint32_t, Arrival>> early_;
  Wake wake_;
};

// A boundary tensor has arrived when its last part has arrived.
std::unique_ptr<Channel> make_channel(const Job& job, const Wiring::TransferPlans& transfer_plans,
                                      const LinkAccount& account) {
  FlowRoute route{.mirror = mirror_of(job.cluster), .account = account};
  for (const auto& transfer_plan : transfer_plans) {
    const TransferPlan::Step& step = transfer_plan->steps.front();
    route.latency = std::max(route.latency, step.latency);
    for (const Transfer& transfer : step.transfers) route.transfers.push_back(transfer);
  }
  if (route.transfers.empty()) return std::make_unique<LatencyChannel>(route.latency, job.p2p);
  return std::make_unique<FlowChannel>(std::move(route), job.p2p);
}

}  // namespace

Network::Network(const Job& job, const Wiring& wiring, std::uint32_t replica,
                 const LinkAccount& account)
    : routes_(job.schedule.routes) {
  const auto connect = [&](std::uint32_t from, std::uint32_t to, std::uint32_t route) {
    const std::uint32_t source = routes_.device(from, route);
    const std::uint32_t destination = routes_.device(to, route);
    End end{.source = source, .stage = from, .crosses = source != destination};
    if (!end.crosses) {
      channels_.push_back(std::make_unique<LatencyChannel>(0, schedules::P2p::eager));
    } else {
      LinkAccount channel_account = account;
      channel_account.traffic =
          from < to ? trace::TrafficClass::activation : trace::TrafficClass::gradient;
      channels_.push_back(
          make_channel(job, wiring.hop({replica, source}, destination), channel_account));
    }
    end.channel = channels_.back().get();
    return end;
  };

  const std::uint32_t last = routes_.stages() - 1;
  for (std::uint32_t route = 0; route < routes_.count(); ++route) {
    for (std::uint32_t to = 0; to <= last; ++to) {
      Stage stage;
      if (to > 0) stage.activation = connect(to - 1, to, route);
      stage.gradient = connect(to < last ? to + 1 : to, to, route);
      stage.stored_gradient = connect(to, to, route);
      stages_.push_back(stage);
    }
  }
  if (job.schedule.barriers == 0) return;
  exchanges_ = std::make_unique<Exchanges>();
  exchanges_->barriers = job.schedule.barriers;
  exchanges_->seconds = job.costs.exchanges();
  for (std::uint32_t stage = 0; stage <= last; ++stage)
    for (auto* const ends : {&exchanges_->hidden, &exchanges_->sums})
      ends->push_back(job.schedule.runs_vocabulary(stage) ? connect(stage, stage, 0) : End{});
}

void Network::exchange(const schedules::Pass& pass, double end) const {
  if (exchanges_ == nullptr) return;
  const std::uint32_t last_stage = routes_.stages() - 1;
  const auto send_to_all = [&](const std::vector<End>& ends, double time) {
    for (const End& destination : ends)
      if (destination.channel != nullptr) destination.channel->send(pass.microbatch, time, false);
  };
  if (pass.kind == schedules::PassKind::forward && pass.stage == last_stage)
    return send_to_all(exchanges_->hidden, end + exchanges_->seconds.before_output);
  if (!is_of_vocabulary(pass.kind)) return;
  const bool after_output = pass.kind == schedules::PassKind::output;
  const std::size_t i = after_output ? 0 : 1;
  Exchanges::Microbatch& microbatch = exchanges_->microbatches[pass.microbatch];
  if (microbatch.left[i] == 0)
    for (const End& destination : exchanges_->hidden)
      microbatch.left[i] += destination.channel != nullptr ? 1 : 0;
  microbatch.last[i] = std::max(microbatch.last[i], end);
  if (--microbatch.left[i] > 0) return;
  const double exchanged =
      microbatch.last[i] +
      (after_output ? exchanges_->seconds.after_output : exchanges_->seconds.after_output_grad);
  if (!after_output) exchanges_->microbatches.erase(pass.microbatch);
  if (after_output) send_to_all(exchanges_->sums, exchanged);
  if (after_output == (exchanges_->barriers == 1))
    stage(last_stage, pass.microbatch).gradient.channel->send(pass.microbatch, exchanged, false);
}

const Network::End& Network::input_of(const schedules::Pass& pass) const {
  static constexpr End no_input;
  if (pass.kind == schedules::PassKind::recompute) return no_input;  // F has stored its input
  if (pass.kind == schedules::PassKind::output) return exchanges_->hidden[pass.stage];
  if (pass.kind == schedules::PassKind::output_grad) return exchanges_->sums[pass.stage];
  const Stage& channels = stage(pass.stage, pass.microbatch);
  if (pass.kind == schedules::PassKind::forward) return channels.activation;
  return schedules::sends_gradient(pass.kind) ? channels.gradient : channels.stored_gradient;
}

Channel* Network::output_of(const schedules::Pass& pass) const {
  if (pass.kind == schedules::PassKind::forward) {
    const bool is_last = pass.stage + 1U == routes_.stages();
    if (is_last && exchanges_ != nullptr) return nullptr;
    return is_last ? stage(pass.stage, pass.microbatch).gradient.channel
                   : stage(pass.stage + 1, pass.microbatch).activation.channel;
  }
  if (pass.stage == 0 || !schedules::sends_gradient(pass.kind)) return nullptr;
  return stage(pass.stage - 1, pass.microbatch).gradient.channel;
}

Channel* Network::stored_gradient_of(const schedules::Pass& pass) const {
  return pass.kind == schedules::PassKind::input_grad
             ? stage(pass.stage, pass.microbatch).stored_gradient.channel
             : nullptr;
}

}  // namespace pipewright::execution
