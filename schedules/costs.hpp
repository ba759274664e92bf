#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedules/pass.hpp"

namespace pipewright::schedules {

// How a boundary tensor crosses between two devices. All are posted when the pass that made it
// ends.
enum class P2p : std::uint8_t {
  eager,       // receives are pre-posted: the transfer starts at once, the sender goes on
  rendezvous,  // it starts when the receiver has reached the pass that needs it; the sender goes on
  blocking,    // it starts at once, and the sender computes nothing until it has arrived
};

// Duration of each kind of pass on each virtual stage, in seconds.
struct PassTimes {
  std::array<std::vector<double>, pass_kinds> of_stage;  // empty for a kind that never runs

  double operator()(const Pass& pass) const {
    return of_stage[static_cast<int>(pass.kind)][pass.stage];
  }
};

// Time in seconds that a boundary tensor takes from one device to another when nothing contends.
class HopTimes {
 public:
  // The same for every pair of different devices.
  HopTimes(std::uint32_t devices, double seconds)
      : devices_(devices), seconds_(std::size_t{devices} * devices, seconds) {
    for (std::uint32_t device = 0; device < devices; ++device) set(device, device, 0);
  }
  void set(std::uint32_t source, std::uint32_t destination, double seconds) {
    seconds_[std::size_t{source} * devices_ + destination] = seconds;
  }
  double operator()(std::uint32_t source, std::uint32_t destination) const {
    return seconds_[std::size_t{source} * devices_ + destination];
  }

 private:
  std::uint32_t devices_;
  std::vector<double> seconds_;  // [source][destination]
};

// When a pass ran. All in seconds from the start of the run.
struct PassSpan {
  double sent = 0;      // its input was posted
  double ready = 0;     // its input had arrived
  double start = 0;     // it started on the device
  double end = 0;       // it ended
  double released = 0;  // the device could go on
};

}  // namespace pipewright::schedules
