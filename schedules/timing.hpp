#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
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

  // A device may start its first pass from then on, in seconds; at 0 unless told.
  void start_at(std::uint32_t device, double time) { devices_[device].released = time; }

  // Calls visit(device, pass, span) for every pass; in order of time on each device, while devices
  // interleave as the sweep goes. Throws Deadlock, after the visits of all passes that could run.
  template <class Visit>
  void run(Visit&& visit) {
    run(visit, [this](std::uint32_t, const Pass& pass, const Pass* partner, double ready) {
      return Run{ready, partner == nullptr ? times_(pass) : times_(pass, *partner)};
    });
  }
  // The same, but a pass that could start at `ready` runs as hold(device, pass, partner, ready)
  // says, which is asked once for each pass, or fused pair, in the order of the device; `partner`
  // is null but for pairs.
  struct Run {
    double start = 0;
    double seconds = 0;
  };
  template <class Visit, class Hold>
  void run(Visit&& visit, Hold&& hold);

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

  template <class Visit, class Hold>
  void advance(std::uint32_t index, Visit& visit, Hold& hold);
  const Stage& stage_of(const Pass& pass) const {
    return stages_[schedule_.routes.route_of(pass.microbatch) * schedule_.stages() + pass.stage];
  }
  std::size_t slot_of(const Pass& pass) const {
    return pass.stage * microbatches_ + pass.microbatch;
  }
  double& input_of(const Pass& pass) {
    const bool activation = pass.kind == PassKind::forward;
    return (activation ? activations_ : gradients_)[slot_of(pass)];
  }
  bool must_wait(Device& device, const Pass& pass) {
    if (pass.kind == PassKind::recompute || input_of(pass) >= 0) return false;
    device.waits_for = &input_of(pass);
    return true;
  }
  PassSpan arrival(const Pass& pass, double released) {
    if (pass.kind == PassKind::recompute) return {};  // its input was kept by F
    const Stage& stage = stage_of(pass);
    PassSpan span{.sent = input_of(pass)};
    double hop = pass.kind == PassKind::forward ? stage.hop_in_activation : stage.hop_in_gradient;
    if (pass.kind == PassKind::weight_grad) hop = 0;
    // A rendezvous within a device costs nothing, so the hop decides whether there is one.
    const bool meets = mode_ == P2p::rendezvous && hop > 0;
    span.ready = (meets ? std::max(span.sent, released) : span.sent) + hop;
    return span;
  }
  // How long the sender of its output is held up.
  double held_up(const Pass& pass) const {
    if (mode_ != P2p::blocking) return 0;
    if (pass.kind == PassKind::forward) return stage_of(pass).hop_out_activation;
    return sends_gradient(pass.kind) ? stage_of(pass).hop_out_gradient : 0;
  }
  void hand_on(const Pass& pass, double end);
  void deliver(double& slot, double sent, std::uint32_t receiver) {
    slot = sent;
    if (devices_[receiver].waits_for == &slot) runnable_.push_back(receiver);
  }
  [[noreturn]] void fail();

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

template <class Visit, class Hold>
void Timing::run(Visit&& visit, Hold&& hold) {
  while (!runnable_.empty()) {
    const std::uint32_t device = runnable_.back();
    runnable_.pop_back();
    advance(device, visit, hold);
  }
  for (const Device& device : devices_)
    if (!device.at.done()) fail();
}

template <class Visit, class Hold>
void Timing::advance(std::uint32_t index, Visit& visit, Hold& hold) {
  Device& device = devices_[index];
  for (; !device.at.done(); device.at.next()) {
    const Pass pass = device.at.pass();
    if (must_wait(device, pass)) return;
    PassSpan span = arrival(pass, device.released);
    const double ready = std::max(device.released, span.ready);
    if (!pass.fused) {
      const Run run = hold(index, pass, nullptr, ready);
      span.start = run.start;
      span.end = run.start + run.seconds;
      span.released = span.end + held_up(pass);
      device.released = span.released;
      visit(index, pass, span);
      hand_on(pass, span.end);
      continue;
    }

    const Pass partner = device.at.following();
    if (must_wait(device, partner)) return;
    // The two inputs are received, and the two outputs sent, one after the other.
    PassSpan other = arrival(partner, ready);
    const Run run = hold(index, pass, &partner, std::max(ready, other.ready));
    span.start = other.start = run.start;
    span.end = other.end = run.start + run.seconds;
    span.released = span.end + held_up(pass);
    other.released = span.released + held_up(partner);
    device.released = other.released;
    visit(index, pass, span);
    visit(index, partner, other);
    hand_on(pass, span.end);
    hand_on(partner, span.released);
    device.at.next();
  }
}

inline void Timing::hand_on(const Pass& pass, double end) {
  const std::size_t slot = slot_of(pass);
  if (pass.kind == PassKind::forward) {
    // Behind the last stage the loss turns the activation into the gradient.
    if (pass.stage + 1U == schedule_.stages())
      activations_[slot] = 0, gradients_[slot] = end;
    else
      deliver(activations_[slot + microbatches_], end, stage_of(pass).next);
  } else if (sends_gradient(pass.kind)) {
    if (pass.stage > 0) deliver(gradients_[slot - microbatches_], end, stage_of(pass).previous);
    gradients_[slot] = end;  // what W waits for
  }
}

}  // namespace pipewright::schedules
