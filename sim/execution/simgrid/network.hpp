#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedules/costs.hpp"
#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/flows/transfer_plan.hpp"
#include "sim/execution/simgrid/wiring.hpp"

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

// All channels of a replica. Every pass but the first stage's F takes its input from one, and every
// pass but the first stage's gradient and W puts its output into one, even where the next pass is
// on the same device: F of the last stage hands its gradient to itself, I hands its own to W.
class Network {
 public:
  // Flows go into `account`, as activations or gradients.
  Network(const Job& job, const Wiring& wiring, std::uint32_t replica, const LinkAccount& account);

  struct End {
    Channel* channel = nullptr;  // null: none
    std::uint32_t source = 0;    // device
    std::uint32_t stage = 0;     // that produces
    bool crosses = false;        // from one device to another
  };
  const End& input_of(const schedules::Pass& pass) const;
  Channel* output_of(const schedules::Pass& pass) const;
  // Where I leaves the gradient for W; null where the schedule does not split backwards.
  Channel* kept_by(const schedules::Pass& pass) const;

 private:
  struct Stage {
    End activation;  // into F
    End gradient;    // into B or I
    End kept;        // into W
  };
  const Stage& stage(std::uint32_t stage, std::uint32_t microbatch) const {
    return stages_[routes_.route_of(microbatch) * routes_.stages() + stage];
  }

  const schedules::Routes& routes_;
  std::vector<Stage> stages_;  // [route * stages + stage]
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace pipewright::execution
