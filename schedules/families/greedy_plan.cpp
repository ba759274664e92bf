#include "schedules/families/greedy_plan.hpp"

#include <algorithm>
#include <array>

namespace pipewright::schedules {

void GreedyPlan::run() {
  warm_up();
  for (std::uint32_t round = 1; round < microbatches_; ++round) {
    want_forwards();
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
  double gradient = 0;  // when the next device hands one on
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
  // A slow device hands the next fewer than that has time for.
  for (std::size_t j = 1; j < devices_.size(); ++j) {
    const std::uint32_t before = extra[j - 1];
    const bool all = devices_[j - 1].forwards + before == microbatches_;
    extra[j] = std::min(extra[j], all || before == 0 ? before : before - 1);
  }
  for (std::size_t j = 0; j < devices_.size(); ++j)
    for (; extra[j] > 0; --extra[j]) put_forward(j);
  for (std::size_t j = devices_.size(); j-- > 0;) put_input_grad(j);
}

void GreedyPlan::want_forwards() {
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

}  // namespace pipewright::schedules
