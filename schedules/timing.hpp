#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// The contention-free engine: exact times of every pass, by the longest path through
//   start(pass) = max(released(previous pass on the device), end(upstream pass) + hop)
// in one sweep that runs each device as far as its inputs allow. It is the oracle of the simulated
// engine and, since contention only adds, a lower bound of it.
class Timing {
 public:
  Timing(const Schedule& schedule, const PassTimes& times, const HopTimes& hops, P2p mode);

  // Calls visit(device, pass, span) for every pass; in order of time on each device, while devices
  // interleave as the sweep goes. Throws Deadlock, after the visits of all passes that could run.
  template <class Visit>
  void run(Visit&& visit);

 private:
  // A slot holds when the input of a pass was sent: [route and stage][microbatch], one table for
  // activations and one for gradients. Negative: not yet.
  static constexpr double not_sent = -1;
  struct Stage {         // of one route
    std::uint32_t next;  // device of the following stage
    std::uint32_t previous;
    double hop_in_activation, hop_in_gradient, hop_out_activation, hop_out_gradient;
  };
  struct Device {
    PassCursor at;
    double released = 0;  // may start its next pass from here on
    const double* waits_for = nullptr;
  };

  template <class Visit>
  void advance(std::uint32_t index, Visit& visit);
  void deliver(double& slot, double sent, std::uint32_t receiver) {
    slot = sent;
    if (devices_[receiver].waits_for == &slot) runnable_.push_back(receiver);
  }
  [[noreturn]] void fail() const;

  const Schedule& schedule_;
  const PassTimes& times_;
  P2p mode_;
  std::size_t microbatches_;
  std::vector<Stage> stages_;  // [route * stages + stage]
  std::vector<double> activations_;
  std::vector<double> gradients_;
  std::vector<Device> devices_;
  std::vector<std::uint32_t> runnable_;
};

template <class Visit>
void Timing::run(Visit&& visit) {
  while (!runnable_.empty()) {
    const std::uint32_t device = runnable_.back();
    runnable_.pop_back();
    advance(device, visit);
  }
  for (const Device& device : devices_)
    if (!device.at.done()) fail();
}

template <class Visit>
void Timing::advance(std::uint32_t index, Visit& visit) {
  Device& device = devices_[index];
  const std::uint32_t last = schedule_.stages() - 1;
  for (; !device.at.done(); device.at.next()) {
    const Pass pass = device.at.pass();
    const Stage& stage =
        stages_[schedule_.routes.route_of(pass.microbatch) * (last + 1) + pass.stage];
    const bool forward = pass.kind == PassKind::forward;
    const std::size_t slot = pass.stage * microbatches_ + pass.microbatch;
    double& input = forward ? activations_[slot] : gradients_[slot];
    if (input < 0) {
      device.waits_for = &input;
      return;
    }

    PassSpan span;
    span.sent = input;
    double hop = forward ? stage.hop_in_activation : stage.hop_in_gradient;
    if (pass.kind == PassKind::weight_grad) hop = 0;
    // A rendezvous within a device costs nothing, so the hop decides whether there is one.
    const bool meets = mode_ == P2p::rendezvous && hop > 0;
    span.ready = (meets ? std::max(span.sent, device.released) : span.sent) + hop;
    span.start = std::max(device.released, span.ready);
    span.end = span.start + times_(pass);
    span.released = span.end;
    if (mode_ == P2p::blocking && pass.kind != PassKind::weight_grad)
      span.released += forward ? stage.hop_out_activation : stage.hop_out_gradient;
    device.released = span.released;
    visit(index, pass, span);

    if (forward) {
      // Behind the last stage the loss turns the activation into the gradient.
      if (pass.stage == last)
        input = 0, gradients_[slot] = span.end;
      else
        deliver(activations_[slot + microbatches_], span.end, stage.next);
    } else if (sends_gradient(pass.kind)) {
      if (pass.stage > 0) deliver(gradients_[slot - microbatches_], span.end, stage.previous);
      input = span.end;  // what W waits for
    }
  }
}

}  // namespace pipewright::schedules
