#include <algorithm>
#include <deque>

#include "sim/cluster/simgrid.hpp"
#include "sim/execution/channel.hpp"

namespace pipewright::execution {
namespace {

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
  cluster::sg4::SemaphorePtr wake_ = cluster::sg4::Semaphore::create(0);
};

}  // namespace

std::unique_ptr<Channel> make_latency_channel(double latency, schedules::P2p mode) {
  return std::make_unique<LatencyChannel>(latency, mode);
}

}  // namespace pipewright::execution
