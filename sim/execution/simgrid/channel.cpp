#include "sim/execution/simgrid/channel.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::execution {
namespace {

namespace sg4 = cluster::sg4;

class LatencyChannel final : public Channel {
 public:
  LatencyChannel(double latency, schedules::P2p mode) : latency_(latency), mode_(mode) {}

  double send(std::uint32_t microbatch, double now) override {
    queue_.push_back({microbatch, now});
    if (receiver_waits_) {
      receiver_waits_ = false;
      wake_->release();
    }
    return mode_ == schedules::P2p::blocking ? now + latency_ : now;
  }

  Arrival receive(std::uint32_t microbatch, double now) override {
    auto message = queue_.end();
    while ((message = std::find_if(queue_.begin(), queue_.end(), [&](const Message& one) {
              return one.microbatch == microbatch;
            })) == queue_.end()) {
      receiver_waits_ = true;
      wake_->acquire();
    }
    Arrival arrival{.posted = message->posted, .start = message->posted};
    queue_.erase(message);
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
  std::deque<Message> queue_;
  bool receiver_waits_ = false;
  sg4::SemaphorePtr wake_ = sg4::Semaphore::create(0);
};

class FlowChannel final : public Channel {
 public:
  FlowChannel(FlowRoute route, schedules::P2p mode) : route_(std::move(route)), mode_(mode) {}

  double send(std::uint32_t microbatch, double now) override {
    Message message{.microbatch = microbatch, .posted = now};
    if (mode_ != schedules::P2p::rendezvous) start(message);  // others run meanwhile
    const std::vector<sg4::CommPtr> flows = message.flows;
    queue_.push_back(std::move(message));
    if (receiver_waits_) {
      receiver_waits_ = false;
      wake_->release();
    }
    return mode_ == schedules::P2p::blocking ? finish(flows) : now;
  }

  Arrival receive(std::uint32_t microbatch, double) override {
    const auto early = std::find_if(early_.begin(), early_.end(),
                                    [&](const auto& one) { return one.first == microbatch; });
    if (early != early_.end()) {
      const Arrival arrival = early->second;
      early_.erase(early);
      return arrival;
    }
    while (true) {  // received in the order of sending
      while (queue_.empty()) {
        receiver_waits_ = true;
        wake_->acquire();
      }
      Message message = std::move(queue_.front());
      queue_.pop_front();
      if (mode_ == schedules::P2p::rendezvous) start(message);
      Arrival arrival{.posted = message.posted};
      arrival.end = finish(message.flows);
      // SimGrid's clock may be a rounding behind the device's.
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
    std::vector<sg4::CommPtr> flows;  // none before it starts
  };

  void start(Message& message) const {
    for (const Transfer& part : route_.transfers)
      message.flows.push_back(sg4::Comm::sendto_async(part.source, part.destination, part.bytes));
  }

  double finish(const std::vector<sg4::CommPtr>& flows) const {
    double last = 0;
    for (const sg4::CommPtr& flow : flows) {
      flow->wait();
      last = std::max(last, flow->get_finish_time());
    }
    return last - route_.account.epoch + route_.latency;
  }

  FlowRoute route_;
  schedules::P2p mode_;
  std::deque<Message> queue_;
  std::vector<std::pair<std::uint32_t, Arrival>> early_;
  bool receiver_waits_ = false;
  sg4::SemaphorePtr wake_ = sg4::Semaphore::create(0);
};

}  // namespace

std::unique_ptr<Channel> make_latency_channel(double latency, schedules::P2p mode) {
  return std::make_unique<LatencyChannel>(latency, mode);
}

std::unique_ptr<Channel> make_flow_channel(FlowRoute route, schedules::P2p mode) {
  return std::make_unique<FlowChannel>(std::move(route), mode);
}

}  // namespace pipewright::execution
