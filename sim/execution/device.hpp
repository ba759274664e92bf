#pragma once

#include <optional>

#include "schedules/program.hpp"
#include "sim/execution/network.hpp"
#include "sim/execution/recorder.hpp"

namespace pipewright::execution {

// The actor of one device: walks its program, waits for inputs, computes, sends.
class Device {
 public:
  Device(const Job& job, std::uint32_t index, double epoch, trace::Sink& sink);

  void run(const Network& network);
  // The pass at which it stands; none when it has done all.
  std::optional<schedules::Pass> stands_at() const;

 private:
  // When the input was sent and had arrived, for a device that is ready to receive it `now`.
  schedules::PassSpan wait_for_input(const schedules::Pass& pass, double now,
                                     const Network& network);
  // Returns when the device may go on.
  double send_output(const schedules::Pass& pass, double now, const Network& network);

  const Job& job_;
  std::uint32_t index_;
  double epoch_;  // SimGrid's clock at the start of the run
  trace::Sink& sink_;
  Recorder recorder_;
  schedules::PassCursor at_;
  bool at_partner_ = false;  // waits for the input of the second of a fused pair
  double now_ = 0;           // this device's time, exact where SimGrid's clock has rounded
};

}  // namespace pipewright::execution
