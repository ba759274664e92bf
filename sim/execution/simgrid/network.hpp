#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "schedules/costs.hpp"
#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/flows/transfer_plan.hpp"
#include "sim/execution/simgrid/wiring.hpp"

namespace pipewright::execution {

// Times of a message, in seconds from the start of the run.
struct Arrival {
  double posted = 0;
  double start = 0;  // its first byte can move
  double end = 0;    // its last byte has arrived
};

// Queue for one kind of tensor from a stage to its neighbour. Messages are identified by their
// microbatch and sent in order. The functions are called by actors of devices, whose own time `now`
// may be ahead of SimGrid's clock while no other actor can observe it.
class Channel {
 public:
  virtual ~Channel() = default;

  // Posts a message. Returns the time at which the device continues: `now`, or the arrival of the
  // message if the sender waits for it.
  virtual double send(std::uint32_t microbatch, double now, bool waits) = 0;
  // Blocks the actor until it is known when the message arrives, which may be in the future.
  virtual Arrival receive(std::uint32_t microbatch, double now) = 0;
};

// Channels between the passes of a replica. Every pass except the first stage's forward pass takes
// its input from a channel. Every pass except the first stage's backward passes and weight-gradient
// passes puts its output into one, even if the next pass is on the same device: the last stage's
// forward pass sends the gradient to its own stage, and an input-gradient pass to its
// weight-gradient pass.
class Network {
 public:
  // Flows are recorded in `account`, as activations or gradients.
  Network(const Job& job, const Wiring& wiring, std::uint32_t replica, const LinkAccount& account);

  struct End {
    Channel* channel = nullptr;  // null: no input
    std::uint32_t source = 0;    // device
    std::uint32_t stage = 0;     // stage that produces the tensor
    bool crosses = false;        // source and destination are different devices
  };
  const End& input_of(const schedules::Pass& pass) const;
  Channel* output_of(const schedules::Pass& pass) const;
  // Tells all devices that the last stage's F, or S or T of a device, ended at `end` if the
  // vocabulary is split. The gradient of the last stage follows from the last exchange.
  void exchange(const schedules::Pass& pass, double end) const;
  // Channel from the input-gradient pass to the weight-gradient pass; null if the schedule does not
  // split backward passes.
  Channel* stored_gradient_of(const schedules::Pass& pass) const;

 private:
  struct Stage {
    End activation;       // into F
    End gradient;         // into B or I
    End stored_gradient;  // into W
  };
  const Stage& stage(std::uint32_t stage, std::uint32_t microbatch) const {
    return stages_[routes_.route_of(microbatch) * routes_.stages() + stage];
  }

  // Exchanges of a split vocabulary.
  struct Exchanges {
    struct Microbatch {
      std::array<std::uint32_t, 2> left{};  // S and T that have not ended
      std::array<double, 2> last{};         // latest end of S and of T
    };
    std::uint32_t barriers = 0;
    schedules::HopTimes::Barriers seconds;
    std::vector<End> hidden;  // into S, by stage
    std::vector<End> sums;    // into T, by stage
    std::map<std::uint32_t, Microbatch> microbatches;
  };

  const schedules::Routes& routes_;
  std::unique_ptr<Exchanges> exchanges_;  // null: the vocabulary is not split
  std::vector<Stage> stages_;             // by route * stages + stage
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace pipewright::execution
