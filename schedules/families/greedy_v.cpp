#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "schedules/families/fitted.hpp"

namespace pipewright::schedules {
namespace {

constexpr double unknown = -1;

// Legs of a microbatch's path through the V: F from the first device to the last and back, then I
// from the first device to the last and back.
enum Leg : std::uint8_t { forward_down, forward_up, gradient_down, gradient_up };
constexpr int legs = 4;

struct Variant {
  // True if a W may delay an F (fill_forward) or an I on its way down (fill_gradient). W may always
  // delay an I on its way up.
  bool fill_forward;
  bool fill_gradient;
};

// Plans all devices together. Each first runs as many warm-up forwards as memory and time allow,
// then alternates I and F, each on the leg whose input has arrived. W passes fill the idle times.
class GreedyV {
 public:
  // A device may idle as long as the device that has idled most so far. If that is less than its
  // `slack`, it may idle as long as its slack: the time by which its idle time stayed below the
  // longest bubble of the previous run. `slack` may be empty.
  GreedyV(const Pipeline& pipeline, double releases, Variant variant, std::vector<double> slack)
      : pipeline_(pipeline),
        releases_(releases),
        variant_(variant),
        slack_(std::move(slack)),
        devices_(pipeline.devices) {
    for (Device& device : devices_)
      for (auto& leg : device.ends) leg.assign(pipeline.microbatches, unknown);
  }

  // Makes the plan; may be called only once. Returns false if no plan is found.
  bool run();
  double longest_bubble() const { return longest_bubble_; }
  std::vector<double> slack() const;  // For the next run.
  Order order() const;

 private:
  struct Device {
    std::array<std::uint32_t, legs> count{};
    std::array<std::uint32_t, legs> weight_grads_of{};  // By the leg of their I.
    std::array<std::vector<double>, legs> ends;         // By microbatch.
    std::vector<Leg> waiting;                           // Legs with a W to run, in order.
    std::size_t weight_grads = 0;
    double now = 0, bubble = 0, held = 0;
    std::vector<Pass> passes;
  };

  std::uint32_t last() const { return pipeline_.devices - 1; }
  std::uint16_t stage(std::uint32_t index, Leg leg) const {
    const bool lower = leg == forward_down || leg == gradient_up;
    return static_cast<std::uint16_t>(lower ? index : 2 * pipeline_.devices - 1 - index);
  }
  double seconds(std::uint32_t index, Leg leg, PassKind kind) const {
    return pipeline_.times[kind][stage(index, leg)];
  }
  bool has_room(const Device& device, double chunks) const {
    return device.held + chunks <= 2.0 * pipeline_.devices + 1e-9;
  }
  bool is_first(std::uint32_t index, Leg leg) const {  // Its input comes from no other device.
    return leg % 2 == 0 ? index == 0 : index == last();
  }
  // Returns when the leg's next input arrives at the device; unknown if it has not been produced
  // yet.
  double arrival(std::uint32_t index, Leg leg) const;
  bool is_ready(std::uint32_t index, Leg leg) const { return arrival(index, leg) != unknown; }

  bool put(std::uint32_t index, Leg leg);
  void put_weight_grad(std::uint32_t index);
  bool has_weight_grad(const Device& device) const {
    return device.weight_grads < device.waiting.size();
  }
  void fill_wait(std::uint32_t index, Leg leg, bool over);
  bool warm_up();
  bool level();
  bool gradients();
  bool forwards();

  const Pipeline& pipeline_;
  double releases_;
  Variant variant_;
  std::vector<double> slack_;
  std::vector<Device> devices_;
  double longest_bubble_ = 0;
};

double GreedyV::arrival(std::uint32_t index, Leg leg) const {
  const std::uint32_t microbatch = devices_[index].count[leg];
  if (microbatch >= pipeline_.microbatches) return unknown;
  if (is_first(index, leg))
    return leg == forward_down ? 0 : devices_[index].ends[leg - 1][microbatch];
  const double end = devices_[leg % 2 == 0 ? index - 1 : index + 1].ends[leg][microbatch];
  return end == unknown ? unknown : end + pipeline_.hop;
}

bool GreedyV::put(std::uint32_t index, Leg leg) {
  Device& device = devices_[index];
  const double ready = arrival(index, leg);
  const bool is_forward = leg < gradient_down;
  if (ready == unknown || (is_forward && !has_room(device, 1))) return false;
  const double wait = std::max(ready - device.now, 0.0);
  if (device.count[forward_down] > 0) device.bubble += wait;
  longest_bubble_ = std::max(longest_bubble_, device.bubble);
  const PassKind kind = is_forward ? PassKind::forward : PassKind::input_grad;
  const std::uint32_t microbatch = device.count[leg]++;
  device.now += wait + seconds(index, leg, kind);
  device.ends[leg][microbatch] = device.now;
  device.held += is_forward ? 1 : -releases_;
  device.passes.push_back({kind, stage(index, leg), microbatch});
  if (!is_forward) device.waiting.push_back(leg);
  return true;
}

void GreedyV::put_weight_grad(std::uint32_t index) {
  Device& device = devices_[index];
  const Leg leg = device.waiting[device.weight_grads];
  ++device.weight_grads;
  device.now += seconds(index, leg, PassKind::weight_grad);
  device.held -= 1 - releases_;
  const std::uint32_t microbatch = device.weight_grads_of[leg]++;
  device.passes.push_back({PassKind::weight_grad, stage(index, leg), microbatch});
}

// Runs the W passes that end before the leg's input arrives. If `over` is true, runs one more if
// the device would otherwise idle longer than it may.
void GreedyV::fill_wait(std::uint32_t index, Leg leg, bool over) {
  Device& device = devices_[index];
  if (is_first(index, leg)) return;
  const double until = arrival(index, leg);
  const auto next = [&] {
    return seconds(index, device.waiting[device.weight_grads], PassKind::weight_grad);
  };
  while (has_weight_grad(device) && until >= device.now + next()) put_weight_grad(index);
  double allowed = longest_bubble_;
  if (!slack_.empty()) allowed = std::max(allowed, slack_[index]);
  if (over && has_weight_grad(device) && until - device.now > allowed - device.bubble)
    put_weight_grad(index);
}

// Microbatch 0 goes down and up. While devices wait for it to come back, they run further
// microbatches, as many as memory allows and all previous devices can run, too.
bool GreedyV::warm_up() {
  for (std::uint32_t i = 0; i <= last(); ++i)
    if (!put(i, forward_down)) return false;
  for (std::uint32_t i = last() + 1; i-- > 0;) {
    if (i < last()) {
      const double until = arrival(i, forward_up);
      while (has_room(devices_[i], 2 + 2.0 * i) &&
             devices_[i].now + seconds(i, forward_down, PassKind::forward) <= until &&
             devices_[i].count[forward_down] < pipeline_.microbatches)
        for (std::uint32_t j = 0; j <= i; ++j)
          if (!put(j, forward_down)) return false;
    }
    if (!put(i, forward_up)) return false;
  }
  return level();
}

// Runs forwards until every device has run at least as many as the previous device, and more on the
// way up unless that one has run all.
bool GreedyV::level() {
  Leg leg = forward_down;
  for (std::uint32_t i = 1; i <= last(); ++i) {
    const auto& before = devices_[i - 1].count;
    const auto& count = devices_[i].count;
    while (
        count[0] + count[1] < before[0] + before[1] ||
        (count[forward_up] <= before[forward_up] && before[forward_up] < pipeline_.microbatches)) {
      for (std::uint32_t j = last() + 1; j-- > i;)
        if (devices_[j].count[leg] < pipeline_.microbatches && !put(j, leg)) return false;
      leg = leg == forward_down ? forward_up : forward_down;
    }
  }
  return true;
}

bool GreedyV::gradients() {
  std::vector<std::uint32_t> up, down;
  for (std::uint32_t i = 0; i <= last(); ++i) {
    const auto& count = devices_[i].count;
    const bool has_come = i == last() || is_ready(i, gradient_up);
    const bool goes_up = count[gradient_up] < count[gradient_down] &&
                         (has_come || count[gradient_down] >= pipeline_.microbatches);
    (goes_up ? up : down).push_back(i);
  }
  std::reverse(up.begin(), up.end());
  for (const std::uint32_t i : up) {
    if (!is_ready(i, gradient_up)) return false;
    fill_wait(i, gradient_up, true);
    if (!put(i, gradient_up)) return false;
  }
  for (const std::uint32_t i : down) {
    if (!is_ready(i, gradient_down)) return false;
    fill_wait(i, gradient_down, variant_.fill_gradient);
    if (!put(i, gradient_down)) return false;
  }
  return true;
}

bool GreedyV::forwards() {
  for (std::uint32_t i = 0; i <= last(); ++i) {
    Device& device = devices_[i];
    const auto& count = device.count;
    if (count[forward_up] >= pipeline_.microbatches) continue;
    Leg leg = forward_up;
    if (count[forward_up] >= count[forward_down] || (i < last() && !is_ready(i, forward_up)))
      leg = forward_down;
    if (!is_ready(i, leg)) {
      if (count[forward_up] >= count[forward_down]) return false;
      continue;
    }
    while (!has_room(device, 1)) {
      if (!has_weight_grad(device)) return false;
      put_weight_grad(i);
    }
    fill_wait(i, leg, variant_.fill_forward);
    if (!put(i, leg)) return false;
  }
  return true;
}

bool GreedyV::run() {
  if (!warm_up()) return false;
  for (std::uint64_t round = 0; round < std::uint64_t{2} * pipeline_.microbatches; ++round)
    if (!gradients() || !forwards()) return false;
  for (std::uint32_t i = 0; i <= last(); ++i)
    while (has_weight_grad(devices_[i])) put_weight_grad(i);
  const std::size_t passes_per_device = std::size_t{6} * pipeline_.microbatches;
  return std::ranges::all_of(
      devices_, [&](const Device& device) { return device.passes.size() == passes_per_device; });
}

std::vector<double> GreedyV::slack() const {
  std::vector<double> slack;
  for (const Device& device : devices_) slack.push_back(longest_bubble_ - device.bubble);
  return slack;
}

Order GreedyV::order() const {
  Order order;
  for (const Device& device : devices_) order.push_back(device.passes);
  return order;
}

}  // namespace

std::optional<Order> greedy_v(const Pipeline& pipeline, double input_grad_releases) {
  std::optional<GreedyV> best;
  for (const bool fill_gradient : {true, false})
    for (const bool fill_forward : {true, false}) {
      // Plans again with the slack that the previous plan left, as long as that shortens the
      // longest bubble.
      double bubble = std::numeric_limits<double>::infinity();
      std::vector<double> slack;
      for (bool shorter = true; shorter;) {
        GreedyV plan(pipeline, input_grad_releases, {fill_forward, fill_gradient}, slack);
        if (!plan.run()) break;
        shorter = plan.longest_bubble() < bubble;
        bubble = std::min(bubble, plan.longest_bubble());
        slack = plan.slack();
        if (!best || plan.longest_bubble() < best->longest_bubble()) best.emplace(std::move(plan));
      }
    }
  if (!best) return std::nullopt;
  return best->order();
}

}  // namespace pipewright::schedules
