#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "sim/execution/channel.hpp"

namespace pipewright::execution {
namespace {

namespace sg4 = cluster::sg4;

class FlowChannel final : public Channel {
 public:
  FlowChannel(FlowRoute route, schedules::P2p mode)
      : route_(std::move(route)), mode_(mode), mailbox_(sg4::Mailbox::by_name(route_.name)) {
    // With a receiver a mailbox takes a message at once; without, it waits for the receive.
    if (mode_ != schedules::P2p::rendezvous) mailbox_->set_receiver(route_.receiver);
  }
  FlowChannel(const FlowChannel&) = delete;
  FlowChannel& operator=(const FlowChannel&) = delete;
  ~FlowChannel() override { mailbox_->set_receiver(nullptr); }

  double send(std::uint32_t microbatch, double now) override {
    on_the_way_.push_back({microbatch, now});
    sg4::CommPtr flow = mailbox_->put_init(this, route_.bytes);
    if (mode_ != schedules::P2p::blocking) {
      flow->detach();
      return now;
    }
    flow->start();
    flow->wait();
    return flow->get_finish_time() - route_.epoch + route_.latency;
  }

  Arrival receive(std::uint32_t microbatch, double) override {
    const auto early = std::find_if(early_.begin(), early_.end(),
                                    [&](const auto& one) { return one.first == microbatch; });
    if (early != early_.end()) {
      const Arrival arrival = early->second;
      early_.erase(early);
      return arrival;
    }
    while (true) {
      void* payload = nullptr;
      const sg4::CommPtr flow = mailbox_->get_async<void>(&payload);
      flow->wait();
      const Message message = on_the_way_.front();
      on_the_way_.pop_front();
      const Arrival arrival{
          .posted = message.posted,
          // SimGrid's clock may be a rounding behind the device's.
          .start = std::max(message.posted, flow->get_start_time() - route_.epoch),
          .end = flow->get_finish_time() - route_.epoch + route_.latency};
      if (message.microbatch == microbatch) return arrival;
      early_.emplace_back(message.microbatch, arrival);  // received in the order of sending
    }
  }

 private:
  struct Message {
    std::uint32_t microbatch;
    double posted;
  };
  FlowRoute route_;
  schedules::P2p mode_;
  sg4::Mailbox* mailbox_;
  std::deque<Message> on_the_way_;
  std::vector<std::pair<std::uint32_t, Arrival>> early_;
};

}  // namespace

std::unique_ptr<Channel> make_flow_channel(FlowRoute route, schedules::P2p mode) {
  return std::make_unique<FlowChannel>(std::move(route), mode);
}

}  // namespace pipewright::execution
