#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/pass.hpp"

namespace pipewright::schedules {

// One of the eight ways to plan.
struct GreedyVariant {
  bool fill_ends_in_time;      // warm-up: a forward must end, not just start, before the gradient
  bool gradients_first;        // a device well ahead leaves out a forward that delays a gradient
  bool weight_grad_over_wait;  // a W runs into a wait even where that device can afford the wait
};

// What it plans with, times in one unit of the user's.
struct GreedyCosts {
  std::vector<double> forward, input_grad, weight_grad;  // of each device
  double hop = 0;
  double tolerance = 0;            // times that differ by rounding alone are equal
  double limit = 0;                // microbatches that a device may hold,
  double input_grad_releases = 0;  // of which I releases this part and W the rest
};

// The greedy planner of Qi et al. 2024 (arXiv 2401.10241, section 3.1): runs all devices side by
// side, in rounds of at most one F and one I each, and decides as it goes.
class GreedyPlan {
 public:
  GreedyPlan(const GreedyCosts& costs, GreedyVariant variant, std::uint32_t microbatches)
      : costs_(costs),
        variant_(variant),
        microbatches_(microbatches),
        devices_(costs.forward.size()),
        forwards_wanted_(devices_.size()) {
    for (Device& device : devices_) {
      device.forward_end.reserve(microbatches);
      device.gradient_end.reserve(microbatches);
      device.order.reserve(std::size_t{3} * microbatches);
    }
  }

  void run();  // once

  double longest_span() const;  // from a device's first start to its last end
  std::vector<Pass> passes(std::uint16_t device) const;

 private:
  struct Device {
    std::uint32_t forwards = 0, input_grads = 0, weight_grads = 0;  // so far
    double end = 0;                                                 // of its last pass
    double bubble = 0;                                              // since its first pass
    std::vector<double> forward_end, gradient_end;                  // by microbatch
    std::vector<PassKind> order;

    bool has_weight_grad() const { return weight_grads < input_grads; }
  };

  bool not_after(double one, double other) const { return one <= other + costs_.tolerance; }
  bool has_room(const Device& device, std::uint32_t forwards, std::uint32_t weight_grads) const {
    const double part = costs_.input_grad_releases;
    return (device.forwards + forwards) - part * device.input_grads -
               (1 - part) * (device.weight_grads + weight_grads) <=
           costs_.limit + 1e-9;
  }
  double activation_arrives(std::size_t j) const {
    return j == 0 ? 0 : devices_[j - 1].forward_end[devices_[j].forwards] + costs_.hop;
  }
  double gradient_arrives(std::size_t j) const {
    return j + 1 == devices_.size()
               ? 0
               : devices_[j + 1].gradient_end[devices_[j].input_grads] + costs_.hop;
  }

  void put(Device& device, PassKind kind, double ready, double duration);
  void put_forward(std::size_t j);
  void put_input_grad(std::size_t j);
  void put_weight_grad(std::size_t j);

  // F of microbatch 0 everywhere; then as many more as there is room and time for before the first
  // gradient comes, fewer on each device than on the one before unless that has forwarded all; then
  // I of microbatch 0.
  void warm_up();

  // A device forwards only if the next does too, or a gap would open between them. So no device
  // falls behind the next, if none did in warm-up: each round finds its inputs, and as the last
  // device always forwards, all have forwarded all when it has.
  void want_forwards();
  bool wants_forward(std::size_t j) const;

  void forward(std::size_t j);
  void input_grad(std::size_t j);

  // W's as long as they end in time; one more if the wait would lengthen the longest bubble.
  void fill_wait(std::size_t j, double until);
  void drain(std::size_t j);

  const GreedyCosts& costs_;
  GreedyVariant variant_;
  std::uint32_t microbatches_;
  std::vector<Device> devices_;
  std::vector<std::uint32_t> forwards_wanted_;
  double largest_bubble_ = 0;
};

}  // namespace pipewright::schedules
