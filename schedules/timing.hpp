#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// Returns whether a device computes nothing while it sends the output of the cursor's pass.
inline bool sender_waits(P2p mode, const PassCursor& at) {
  return mode == P2p::blocking || (mode == P2p::steady && !alternates_after(at));
}

// The contention-free engine: computes exact pass times as the longest path through
//   start(pass) = max(released(previous pass on the device), end(upstream pass) + hop)
// in one sweep that runs each device as far as its inputs allow. The simulated engine gives the
// same times without contention, and never smaller ones.
class Timing {
 public:
  Timing(const Schedule& schedule, const PassTimes& times, const HopTimes& hops, P2p mode);

  // Sets the earliest time at which a device's first pass may start, in seconds (default: 0).
  void start_at(std::uint32_t device, double time) { devices_[device].released = time; }

  // Calls visit(device, pass, span) for every pass: in order of time on each device, with devices
  // interleaved as the sweep goes. Throws Deadlock after visiting all passes that could run.
  template <class Visit>
  void run(Visit&& visit) {
    run(visit, [this](std::uint32_t, const Pass& pass, const Pass* partner, double ready) {
      return Run{ready, partner == nullptr ? times_(pass) : times_(pass, *partner)};
    });
  }
  // Start and duration of a pass, in seconds.
  struct Run {
    double start = 0;
    double seconds = 0;
  };
  // Calls visit(device, pass, span) for every pass, in order of time on each device. The function
  // hold(device, pass, partner, ready) -> Run decides when a pass that could start at `ready`
  // starts and how long it takes. It is called once for each pass or fused pair, in the order of
  // the device; `partner` is null unless the pass is fused.
  template <class Visit, class Hold>
  void run(Visit&& visit, Hold&& hold);

 private:
  // activations_ and gradients_ hold, for each [stage][microbatch], the time at which the input of
  // a pass was sent; negative if it has not been sent yet.
  static constexpr double not_sent = -1;
  struct Stage {             // A stage on one route.
    std::uint32_t next;      // Device of the next stage.
    std::uint32_t previous;  // Device of the previous stage.
    double hop_in_activation, hop_in_gradient, hop_out_activation, hop_out_gradient;
  };
  struct Device {
    PassCursor at;
    double released = 0;  // Earliest start of its next pass.
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
    if (is_of_vocabulary(pass.kind)) {
      Barrier& barrier = barriers_[pass.microbatch];
      return pass.kind == PassKind::output ? barrier.hidden : barrier.sums;
    }
    const bool activation = pass.kind == PassKind::forward;
    return (activation ? activations_ : gradients_)[slot_of(pass)];
  }
  bool must_wait(Device& device, const Pass& pass) {
    if (pass.kind == PassKind::recompute || input_of(pass) >= 0) return false;
    device.waits_for = &input_of(pass);
    return true;
  }
  PassSpan arrival(const Pass& pass, double released) {
    if (pass.kind == PassKind::recompute) return {};  // F has kept its input.
    const Stage& stage = stage_of(pass);
    PassSpan span{.sent = input_of(pass)};
    if (is_of_vocabulary(pass.kind)) {  // `sent` is the end of the exchange.
      span.ready = span.sent;
      return span;
    }
    double hop = pass.kind == PassKind::forward ? stage.hop_in_activation : stage.hop_in_gradient;
    if (pass.kind == PassKind::weight_grad) hop = 0;
    // Transfers within a device have no hop and need no rendezvous.
    const bool meets = mode_ == P2p::rendezvous && hop > 0;
    span.ready = (meets ? std::max(span.sent, released) : span.sent) + hop;
    return span;
  }
  // Returns for how many seconds a device is blocked while it sends the output of the cursor's
  // pass.
  double send_block_time(const PassCursor& at) const {
    if (!sender_waits(mode_, at)) return 0;
    const Pass pass = at.pass();
    if (pass.kind == PassKind::forward) return stage_of(pass).hop_out_activation;
    return sends_gradient(pass.kind) ? stage_of(pass).hop_out_gradient : 0;
  }
  void hand_on(const Pass& pass, double end);
  void hand_on_at_barrier(const Pass& pass, double end);
  void deliver_to_all(double& slot, double sent) {
    slot = sent;
    for (std::uint32_t device = 0; device < devices_.size(); ++device)
      if (devices_[device].waits_for == &slot) runnable_.push_back(device);
  }
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
  // Exchanges of a microbatch of a split vocabulary. The times are those at which all devices have
  // the hidden states of the last stage, and the sums over S of all devices; as above, negative if
  // that is not known yet. `left` counts the S and T that have not ended, `last` is the latest end.
  struct Barrier {
    double hidden = not_sent, sums = not_sent;
    std::array<std::uint32_t, 2> left{};
    std::array<double, 2> last{};
  };
  std::vector<Barrier> barriers_;  // By microbatch; empty: the vocabulary is not split.
  HopTimes::Barriers exchanges_;
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
      span.released = span.end + send_block_time(device.at);
      device.released = span.released;
      visit(index, pass, span);
      hand_on(pass, span.end);
      continue;
    }

    const Pass partner = device.at.following();
    if (must_wait(device, partner)) return;
    // A fused pair receives its two inputs one after the other, and then sends its two outputs one
    // after the other.
    PassSpan partner_span = arrival(partner, ready);
    const Run run = hold(index, pass, &partner, std::max(ready, partner_span.ready));
    span.start = partner_span.start = run.start;
    span.end = partner_span.end = run.start + run.seconds;
    span.released = span.end + send_block_time(device.at);
    device.at.next();
    partner_span.released = span.released + send_block_time(device.at);
    device.released = partner_span.released;
    visit(index, pass, span);
    visit(index, partner, partner_span);
    hand_on(pass, span.end);
    hand_on(partner, span.released);
  }
}

// The last stage's F, S and T hand on to all devices; the gradient of the last stage follows from
// the last exchange.
inline void Timing::hand_on_at_barrier(const Pass& pass, double end) {
  Barrier& barrier = barriers_[pass.microbatch];
  if (pass.kind == PassKind::forward)
    return deliver_to_all(barrier.hidden, end + exchanges_.before_output);
  const bool after_output = pass.kind == PassKind::output;
  const std::size_t i = after_output ? 0 : 1;
  barrier.last[i] = std::max(barrier.last[i], end);
  if (--barrier.left[i] > 0) return;
  const double exchanged =
      barrier.last[i] + (after_output ? exchanges_.after_output : exchanges_.after_output_grad);
  if (after_output) deliver_to_all(barrier.sums, exchanged);
  if (after_output != (schedule_.barriers == 1)) return;
  const std::uint32_t last = schedule_.stages() - 1;
  deliver(gradients_[last * microbatches_ + pass.microbatch], exchanged,
          schedule_.routes.device(last, pass.microbatch));
}

inline void Timing::hand_on(const Pass& pass, double end) {
  if (is_of_vocabulary(pass.kind)) return hand_on_at_barrier(pass, end);
  const std::size_t slot = slot_of(pass);
  if (pass.kind == PassKind::forward) {
    // On the last stage, the loss turns the activation into the gradient without a transfer, unless
    // the vocabulary is split.
    if (pass.stage + 1U == schedule_.stages()) {
      activations_[slot] = 0;
      if (barriers_.empty())
        gradients_[slot] = end;
      else
        hand_on_at_barrier(pass, end);
    } else {
      deliver(activations_[slot + microbatches_], end, stage_of(pass).next);
    }
  } else if (sends_gradient(pass.kind)) {
    if (pass.stage > 0) deliver(gradients_[slot - microbatches_], end, stage_of(pass).previous);
    gradients_[slot] = end;  // The input of W.
  }
}

}  // namespace pipewright::schedules
