#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedules/costs.hpp"
#include "sim/execution/collectives/transfer_plan.hpp"
#include "sim/execution/links/link_book.hpp"

namespace pipewright::execution {

// A message as its receiver finds it. Seconds from the start of the run.
struct Arrival {
  double posted = 0;
  double start = 0;  // its first byte could move
  double end = 0;    // its last byte has arrived
};

// One way for one kind of tensor from one stage to a neighbour: messages, named by their
// microbatch, in the order in which they are sent. Called from inside the devices' actors, whose
// own time `now` may run ahead of SimGrid's clock where nobody can tell.
class Channel {
 public:
  virtual ~Channel() = default;

  // Posts a message; returns when the device may go on, which is `now` unless sends block.
  virtual double send(std::uint32_t microbatch, double now) = 0;
  // Blocks the actor until the message's arrival is known, which may be before it has arrived.
  virtual Arrival receive(std::uint32_t microbatch, double now) = 0;
};

// Nothing contends: a message takes `latency` seconds, 0 between two passes of one device.
std::unique_ptr<Channel> make_latency_channel(double latency, schedules::P2p mode);

// Flows over SimGrid's links, shared max-min fairly, and then the routes' latency. Paid after the
// flows rather than before them, latency needs no actor of its own, moves no arrival on an idle
// network, and leaves the sharing fair.
struct FlowRoute {
  std::vector<Transfer> transfers;  // of a message, at once
  double latency = 0;               // seconds
  LinkAccount account = {};         // where the flows go, and since when
};
std::unique_ptr<Channel> make_flow_channel(FlowRoute route, schedules::P2p mode);

}  // namespace pipewright::execution
