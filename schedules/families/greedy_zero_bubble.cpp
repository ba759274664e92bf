#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {

// One of the eight variants of the planner.
struct GreedyVariant {
  bool fill_ends_in_time;      // Warm-up forwards must end, not just start, before the gradient.
  bool gradients_first;        // A device well ahead skips a forward that delays a gradient.
  bool weight_grad_over_wait;  // A W fills a wait even if the device can afford the wait.
};

// Pass times and limits for the planner; all times have the same unit.
struct GreedyCosts {
  std::vector<double> forward, input_grad, weight_grad;  // By device.
  double hop = 0;
  double tolerance = 0;            // Times that differ by less are equal.
  double limit = 0;                // Microbatches whose activations a device may hold.
  double input_grad_releases = 0;  // Part of the activations that I frees; W frees the rest.
};

// The greedy planner of Qi et al. 2024 (arXiv 2401.10241, section 3.1). It plans all devices side
// by side, in rounds of at most one F and one I per device.
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

  void run();  // Makes the plan; call it once.

  // Returns the longest time from a device's first pass to its last.
  double longest_span() const;
  double makespan() const;
  // Compares the longest spans of two plans, and their makespans if the spans are equal.
  bool better_than(const GreedyPlan& rival) const;
  bool is_no_longer_than(const GreedyPlan& rival) const {
    return not_after(longest_span(), rival.longest_span()) &&
           not_after(makespan(), rival.makespan());
  }
  std::vector<Pass> passes(std::uint16_t device) const;

 private:
  struct Device {
    std::uint32_t forwards = 0, input_grads = 0, weight_grads = 0;  // Passes so far.
    double end = 0;                                                 // End of its last pass.
    double bubble = 0;                              // Idle time since its first pass.
    std::vector<double> forward_end, gradient_end;  // By microbatch.
    std::vector<PassKind> order;

    bool has_weight_grad() const { return weight_grads < input_grads; }
  };

  bool not_after(double a, double b) const { return a <= b + costs_.tolerance; }
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

  // Runs F of microbatch 0 on all devices, then as many further forwards as fit into memory and
  // into the time before the first gradient arrives, then I of microbatch 0. Each device runs fewer
  // of these forwards than the previous one, unless that has run all microbatches.
  void warm_up();

  // Decides which devices run a forward in this round. A device does so only if the next device
  // does, too; otherwise it would get too far ahead of it. So if no device fell behind the next one
  // in warm-up, none ever does and inputs are always available. The last device always runs a
  // forward until it has run all, so by then all devices have run all of theirs.
  void choose_forwards();
  bool wants_forward(std::size_t j) const;

  void forward(std::size_t j);
  void input_grad(std::size_t j);

  // Runs W passes that end before `until`, and one more if waiting would lengthen the longest
  // bubble.
  void fill_wait(std::size_t j, double until);
  void drain(std::size_t j);

  const GreedyCosts& costs_;
  GreedyVariant variant_;
  std::uint32_t microbatches_;
  std::vector<Device> devices_;
  std::vector<std::uint32_t> forwards_wanted_;
  double largest_bubble_ = 0;
};

void GreedyPlan::run() {
  warm_up();
  for (std::uint32_t round = 1; round < microbatches_; ++round) {
    choose_forwards();
    for (std::size_t j = 0; j < devices_.size(); ++j)
      if (forwards_wanted_[j] > 0) forward(j);
    for (std::size_t j = devices_.size(); j-- > 0;) input_grad(j);
  }
  for (std::size_t j = 0; j < devices_.size(); ++j) drain(j);
}

double GreedyPlan::longest_span() const {
  double longest = 0;
  for (std::size_t j = 0; j < devices_.size(); ++j)
    longest =
        std::max(longest, devices_[j].end - (devices_[j].forward_end.front() - costs_.forward[j]));
  return longest;
}

double GreedyPlan::makespan() const {
  double end = 0;
  for (const Device& device : devices_) end = std::max(end, device.end);
  return end;
}

bool GreedyPlan::better_than(const GreedyPlan& rival) const {
  const double span = longest_span();
  const double rival_span = rival.longest_span();
  if (!not_after(rival_span, span)) return true;
  return not_after(span, rival_span) && !not_after(rival.makespan(), makespan());
}

std::vector<Pass> GreedyPlan::passes(std::uint16_t device) const {
  std::vector<Pass> result;
  std::array<std::uint32_t, pass_kinds> next{};
  for (const PassKind kind : devices_[device].order)
    result.push_back({kind, device, next[static_cast<std::size_t>(kind)]++});
  return result;
}

void GreedyPlan::put(Device& device, PassKind kind, double ready, double duration) {
  const double wait = std::max(ready - device.end, 0.0);
  if (device.forwards > 0) {
    device.bubble += wait;
    largest_bubble_ = std::max(largest_bubble_, device.bubble);
  }
  device.end += wait + duration;
  device.order.push_back(kind);
}

void GreedyPlan::put_forward(std::size_t j) {
  Device& device = devices_[j];
  put(device, PassKind::forward, activation_arrives(j), costs_.forward[j]);
  device.forward_end.push_back(device.end);
  ++device.forwards;
}

void GreedyPlan::put_input_grad(std::size_t j) {
  Device& device = devices_[j];
  put(device, PassKind::input_grad, gradient_arrives(j), costs_.input_grad[j]);
  device.gradient_end.push_back(device.end);
  ++device.input_grads;
}

void GreedyPlan::put_weight_grad(std::size_t j) {
  put(devices_[j], PassKind::weight_grad, 0, costs_.weight_grad[j]);
  ++devices_[j].weight_grads;
}

void GreedyPlan::warm_up() {
  for (std::size_t j = 0; j < devices_.size(); ++j) put_forward(j);
  std::vector<std::uint32_t>& extra = forwards_wanted_;
  double gradient = 0;  // Time at which the next device sends its gradient.
  for (std::size_t j = devices_.size(); j-- > 0;) {
    const Device& device = devices_[j];
    double end = device.end;
    extra[j] = 0;
    if (j + 1 < devices_.size()) {
      const double arrives = gradient + costs_.hop;
      const auto in_time = [&] {
        return variant_.fill_ends_in_time ? not_after(end + costs_.forward[j], arrives)
                                          : !not_after(arrives, end);
      };
      while (device.forwards + extra[j] < microbatches_ && has_room(device, extra[j] + 1, 0) &&
             in_time()) {
        end += costs_.forward[j];
        ++extra[j];
      }
      end = std::max(end, arrives);
    }
    gradient = end + costs_.input_grad[j];
  }
  // No device may plan more forwards than the previous one sends; a slow device may send few.
  for (std::size_t j = 1; j < devices_.size(); ++j) {
    const std::uint32_t before = extra[j - 1];
    const bool is_complete = devices_[j - 1].forwards + before == microbatches_;
    extra[j] = std::min(extra[j], is_complete || before == 0 ? before : before - 1);
  }
  for (std::size_t j = 0; j < devices_.size(); ++j)
    for (; extra[j] > 0; --extra[j]) put_forward(j);
  for (std::size_t j = devices_.size(); j-- > 0;) put_input_grad(j);
}

void GreedyPlan::choose_forwards() {
  for (std::size_t j = devices_.size(); j-- > 0;) {
    const bool next_does = j + 1 == devices_.size() || forwards_wanted_[j + 1] > 0;
    forwards_wanted_[j] = next_does && wants_forward(j) ? 1 : 0;
  }
}

bool GreedyPlan::wants_forward(std::size_t j) const {
  const Device& device = devices_[j];
  if (device.forwards >= microbatches_) return false;
  if (!variant_.gradients_first || j + 1 == devices_.size()) return true;
  const Device& next = devices_[j + 1];
  if (device.forwards < next.forwards + 2) return true;
  const double gradient = next.end + costs_.forward[j + 1] + costs_.input_grad[j + 1] + costs_.hop;
  if (not_after(gradient, device.end)) return false;
  double end = device.end + costs_.forward[j];
  for (std::uint32_t w = 0; !has_room(device, 1, w) && device.weight_grads + w < device.input_grads;
       ++w)
    end += costs_.weight_grad[j];
  if (not_after(end, gradient)) return true;
  return !not_after(gradient - device.end, largest_bubble_ - device.bubble);
}

void GreedyPlan::forward(std::size_t j) {
  while (!has_room(devices_[j], 1, 0) && devices_[j].has_weight_grad()) put_weight_grad(j);
  fill_wait(j, activation_arrives(j));
  put_forward(j);
}

void GreedyPlan::input_grad(std::size_t j) {
  fill_wait(j, gradient_arrives(j));
  if (j == 0 && devices_[j].forwards == microbatches_) drain(j);
  put_input_grad(j);
}

void GreedyPlan::fill_wait(std::size_t j, double until) {
  const Device& device = devices_[j];
  while (device.has_weight_grad() && not_after(device.end + costs_.weight_grad[j], until))
    put_weight_grad(j);
  if (!device.has_weight_grad() || not_after(until, device.end)) return;
  if (variant_.weight_grad_over_wait ||
      !not_after(until - device.end, largest_bubble_ - device.bubble))
    put_weight_grad(j);
}

void GreedyPlan::drain(std::size_t j) {
  while (devices_[j].has_weight_grad()) put_weight_grad(j);
}
GreedyCosts costs_of(const Parameters& parameters, std::uint32_t limit) {
  const auto durations_of = [&](PassKind kind) {
    const auto& durations = parameters.device_times[kind];
    return durations.empty() ? std::vector<double>(parameters.devices, 1) : durations;
  };
  GreedyCosts costs{.forward = durations_of(PassKind::forward),
                    .input_grad = durations_of(PassKind::input_grad),
                    .weight_grad = durations_of(PassKind::weight_grad),
                    .hop = parameters.hop,
                    .limit = static_cast<double>(limit),
                    .input_grad_releases = parameters.input_grad_releases};
  for (const auto* times : {&costs.forward, &costs.input_grad, &costs.weight_grad})
    if (times->size() != parameters.devices)
      throw std::logic_error("a greedy schedule needs the times of F, I and W on every device");
  for (std::size_t j = 0; j < parameters.devices; ++j)
    costs.tolerance = std::max(costs.tolerance, 1e-9 * (costs.forward[j] + costs.input_grad[j]));
  return costs;
}

void check_size(const std::string& name, const Parameters& parameters) {
  constexpr std::uint64_t max_forwards = 1U << 26U;  // The planner stores the times of all passes.
  const std::uint64_t forwards = std::uint64_t{parameters.devices} * parameters.microbatches;
  if (forwards > max_forwards)
    throw Error(
        fmt::format("{}: {} devices x {} microbatches are more than the {} that can be "
                    "planned; zb-h1 and zb-h2 have no such limit",
                    name, parameters.devices, parameters.microbatches, max_forwards));
}

}  // namespace

Schedule greedy_zero_bubble(std::string name, const Parameters& parameters,
                            std::uint32_t memory_limit_in_microbatches) {
  check_size(name, parameters);
  if (memory_limit_in_microbatches == 0)
    throw Error(fmt::format("{}: a device must hold at least 1 microbatch", name));
  const GreedyCosts costs = costs_of(parameters, memory_limit_in_microbatches);
  const auto best_plan = [&](const GreedyCosts& planned_costs) {
    std::optional<GreedyPlan> best;
    for (const bool fill_ends_in_time : {true, false})
      for (const bool gradients_first : {true, false})
        for (const bool weight_grad_over_wait : {true, false}) {
          GreedyPlan plan(planned_costs,
                          {fill_ends_in_time, gradients_first, weight_grad_over_wait},
                          parameters.microbatches);
          plan.run();
          if (!best || plan.better_than(*best)) best.emplace(std::move(plan));
        }
    return best;
  };
  std::optional<GreedyPlan> best = best_plan(costs);
  // More microbatches can be in flight if I frees memory. That plan is dropped unless it is shorter
  // than the plan for which I frees nothing.
  GreedyCosts frugal = costs;
  frugal.input_grad_releases = 0;
  if (costs.input_grad_releases > 0)
    if (auto plan = best_plan(frugal); plan->is_no_longer_than(*best))
      best.emplace(std::move(*plan));
  return with_programs(
      without_programs(std::move(name), parameters, Routes::looped(parameters.devices, 1)),
      [&](std::uint32_t device) { return fold(best->passes(static_cast<std::uint16_t>(device))); });
}

// ZB-1p: the memory of 1F1B.
Schedule zb_1p(const Parameters& parameters) {
  return greedy_zero_bubble("zb-1p", parameters, parameters.devices);
}

// ZB-2p: twice the memory of 1F1B.
Schedule zb_2p(const Parameters& parameters) {
  return greedy_zero_bubble("zb-2p", parameters, 2 * parameters.devices);
}

}  // namespace pipewright::schedules
