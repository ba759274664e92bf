#pragma once

#include <memory>
#include <vector>

#include "sim/execution/simgrid/channel.hpp"
#include "sim/execution/simgrid/wiring.hpp"

namespace pipewright::execution {

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
