#include "schedules/justify.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace pipewright::schedules {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-9;  // Times closer than this part of a duration count as equal.
constexpr int classes = 4;         // F; I or B; W; R

int class_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return 0;
    case PassKind::weight_grad:
      return 2;
    case PassKind::recompute:
      return 3;
    default:
      return 1;
  }
}

// Finds the device whose next event is earliest, by a tournament tree over the devices; ties go to
// the lowest device.
class Agenda {
 public:
  explicit Agenda(std::size_t devices) {
    while (leaves_ < devices) leaves_ *= 2;
    times_.assign(leaves_, never);
    winner_.resize(2 * leaves_);
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::uint32_t>(i);
    for (std::size_t node = leaves_ - 1; node > 0; --node) play(node);
  }

  double time(std::uint32_t device) const { return times_[device]; }
  void set(std::uint32_t device, double time) {
    times_[device] = time;
    for (std::size_t node = (leaves_ + device) / 2; node > 0; node /= 2) play(node);
  }
  std::uint32_t earliest() const { return winner_[1]; }

 private:
  void play(std::size_t node) {
    const std::uint32_t left = winner_[2 * node];
    const std::uint32_t right = winner_[2 * node + 1];
    winner_[node] = times_[right] < times_[left] ? right : left;
  }

  std::size_t leaves_ = 2;
  std::vector<double> times_;
  std::vector<std::uint32_t> winner_;
};

}  // namespace

// One sweep in one direction of time. In the backward direction everything is mirrored: W comes
// first and takes memory, F comes last and releases it.
class Justifier::Filler {
 public:
  Filler(const Pipeline& pipeline, const Plan& reference, Pull pull, bool backward,
         const std::vector<double>& release);
  Plan run();

 private:
  struct Device {
    std::vector<std::uint32_t>
        next;  // Linked list of the reference positions that have not run yet.
    std::vector<std::uint32_t> previous;
    std::uint32_t head = 0;
    std::int64_t held = 0;
    double free_at = 0;
  };
  struct Input {
    double ready = 0;
    std::uint8_t missing = 0;  // Inputs that have not been produced yet.
  };
  Input& input_of(PassKind kind, std::uint32_t stage, std::uint32_t microbatch) {
    return inputs_[(std::size_t{stage} * pipeline_.microbatches + microbatch) * classes +
                   class_of(kind)];
  }
  void count_inputs();
  void count_memory();
  std::uint32_t pick(std::uint32_t index, double now);
  void start(std::uint32_t index, std::uint32_t place, double now);
  void hand_on(const Pass& pass, double end);
  void give(PassKind kind, std::uint32_t stage, const Pass& from, double end);

  const Pipeline& pipeline_;
  const Plan& reference_;
  Pull pull_;
  bool backward_;
  std::uint32_t stages_;
  PassKind gradient_ = PassKind::backward;  // Kind of pass that sends gradients: I or B.
  double tolerance_ = 0;                    // In seconds.
  std::vector<Input> inputs_;
  std::array<std::vector<std::int64_t>, pass_kinds> takes_;     // By stage, at the start of a pass.
  std::array<std::vector<std::int64_t>, pass_kinds> releases_;  // By stage, at the end of a pass.
  std::vector<Device> devices_;
  std::vector<std::uint32_t> device_of_;  // By stage.
  Agenda agenda_;
  std::uint64_t left_ = 0;
  Plan result_;
};

Justifier::Filler::Filler(const Pipeline& pipeline, const Plan& reference, Pull pull, bool backward,
                          const std::vector<double>& release)
    : pipeline_(pipeline),
      reference_(reference),
      pull_(pull),
      backward_(backward),
      stages_(pipeline.routes.stages()),
      inputs_(std::size_t{stages_} * pipeline.microbatches * classes),
      devices_(reference.order.size()),
      agenda_(reference.order.size()) {
  for (std::uint32_t stage = 0; stage < stages_; ++stage)
    device_of_.push_back(pipeline.routes.device(stage, 0));
  for (const Pass& pass : reference.order.front())
    if (pass.kind == PassKind::input_grad) gradient_ = PassKind::input_grad;
  for (const double seconds : pipeline.times.of_stage[0])
    tolerance_ = std::max(tolerance_, seconds * rounding);
  count_inputs();
  count_memory();
  result_.order.resize(devices_.size());
  result_.start.resize(devices_.size());
  for (std::uint32_t index = 0; index < devices_.size(); ++index) {
    Device& device = devices_[index];
    const auto size = static_cast<std::uint32_t>(reference.order[index].size());
    left_ += size;
    device.next.resize(size);
    device.previous.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) device.next[i] = i + 1, device.previous[i] = i - 1;
    result_.order[index].reserve(size);
    result_.start[index].reserve(size);
    device.free_at = release.empty() ? 0 : release[index];
    agenda_.set(index, device.free_at);
  }
}

void Justifier::Filler::count_inputs() {
  const auto missing = [&](PassKind kind, std::uint32_t stage, std::uint32_t microbatch,
                           int count) {
    input_of(kind, stage, microbatch).missing = static_cast<std::uint8_t>(count);
  };
  const bool split = gradient_ == PassKind::input_grad;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const bool recomputes = !pipeline_.recomputed.empty() && pipeline_.recomputed[stage];
    for (std::uint32_t k = 0; k < pipeline_.microbatches; ++k) {
      if (backward_) {
        missing(gradient_, stage, k, (split ? 1 : 0) + (stage > 0 ? 1 : 0));
        missing(PassKind::recompute, stage, k, 1);
        missing(PassKind::forward, stage, k, recomputes ? 2 : 1);
      } else {
        missing(PassKind::forward, stage, k, stage > 0 ? 1 : 0);
        missing(PassKind::recompute, stage, k, 1);
        missing(gradient_, stage, k, recomputes ? 2 : 1);
        missing(PassKind::weight_grad, stage, k, 1);
      }
    }
  }
}

void Justifier::Filler::count_memory() {
  for (auto& of_stage : takes_) of_stage.assign(stages_, 0);
  for (auto& of_stage : releases_) of_stage.assign(stages_, 0);
  const auto set = [&](PassKind kind, std::uint32_t stage, std::int64_t taken,
                       std::int64_t released) {
    auto& first = backward_ ? releases_ : takes_;
    auto& second = backward_ ? takes_ : releases_;
    first[static_cast<std::size_t>(kind)][stage] = taken;
    second[static_cast<std::size_t>(kind)][stage] = released;
  };
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const bool recomputes = !pipeline_.recomputed.empty() && pipeline_.recomputed[stage];
    const std::int64_t held = pipeline_.memory.held[stage];
    const std::int64_t early = pipeline_.memory.released_by_input_grad[stage];
    set(recomputes ? PassKind::recompute : PassKind::forward, stage, held, 0);
    set(PassKind::backward, stage, 0, held);
    set(PassKind::input_grad, stage, 0, early);
    set(PassKind::weight_grad, stage, 0, held - early);
  }
}

Plan Justifier::Filler::run() {
  while (left_ > 0) {
    const std::uint32_t index = agenda_.earliest();
    const double now = agenda_.time(index);
    if (now == never) break;
    const std::uint32_t place = pick(index, now);
    if (place < devices_[index].next.size()) start(index, place, now);
  }
  if (left_ > 0) {
    result_.makespan = result_.span = never;
    return std::move(result_);
  }
  for (std::uint32_t index = 0; index < devices_.size(); ++index) {
    const double end = devices_[index].free_at;
    result_.makespan = std::max(result_.makespan, end);
    result_.span = std::max(result_.span, end - result_.start[index].front());
  }
  return std::move(result_);
}

// Returns the position in the order of the pass that the device starts now. If it can start none,
// returns the size of the order and schedules the device's next event. Passes that are skipped run
// after the chosen one, so their peak memory must leave room for it.
std::uint32_t Justifier::Filler::pick(std::uint32_t index, double now) {
  const Device& device = devices_[index];
  const std::vector<Pass>& order = reference_.order[index];
  double again = never;
  const std::int64_t limit = pipeline_.memory.limit[index];
  // Enough passes are examined to find one for every activation that the device may hold.
  const std::size_t window = pull_ == Pull::none ? 1 : 16 * std::size_t{pipeline_.devices} + 16;
  const bool is_safe = pull_ == Pull::safe && device.head < order.size();
  double until = never;
  if (is_safe) until = reference_.start[index][device.head];
  std::int64_t held = device.held;
  std::int64_t peak = held;
  std::size_t examined = 0;
  for (std::uint32_t i = device.head; i < order.size() && examined < window;
       i = device.next[i], ++examined) {
    const Pass& pass = order[i];
    const Input& input = input_of(pass.kind, pass.stage, pass.microbatch);
    const auto kind = static_cast<std::size_t>(pass.kind);
    const std::int64_t taken = takes_[kind][pass.stage];
    if (input.missing == 0 && peak + taken <= limit &&
        (i == device.head || now + pipeline_.times(pass) <= until + tolerance_)) {
      if (input.ready <= now + tolerance_) return i;
      again = std::min(again, input.ready);
    }
    if (pull_ == Pull::fitting && input.missing == 0)
      until = std::min(until, std::max(now, input.ready));
    held += taken;
    peak = std::max(peak, held);
    held -= releases_[kind][pass.stage];
  }
  agenda_.set(index, again);
  return static_cast<std::uint32_t>(order.size());
}

void Justifier::Filler::start(std::uint32_t index, std::uint32_t place, double now) {
  Device& device = devices_[index];
  const Pass& pass = reference_.order[index][place];
  const std::uint32_t after = device.next[place];
  if (place == device.head)
    device.head = after;
  else
    device.next[device.previous[place]] = after;
  if (after < device.next.size()) device.previous[after] = device.previous[place];

  const auto kind = static_cast<std::size_t>(pass.kind);
  const double end = now + pipeline_.times(pass);
  device.held += takes_[kind][pass.stage] - releases_[kind][pass.stage];
  device.free_at = end;
  result_.order[index].push_back(pass);
  result_.start[index].push_back(now);
  --left_;
  hand_on(pass, end);
  agenda_.set(index, end);
}

void Justifier::Filler::hand_on(const Pass& pass, double end) {
  const std::uint32_t stage = pass.stage;
  const bool is_last = stage + 1 == stages_;
  const bool recomputes = !pipeline_.recomputed.empty() && pipeline_.recomputed[stage];
  switch (pass.kind) {
    case PassKind::forward:
      if (backward_) {
        if (stage > 0) give(PassKind::forward, stage - 1, pass, end);
      } else {
        give(is_last ? gradient_ : PassKind::forward, is_last ? stage : stage + 1, pass, end);
        if (recomputes) give(PassKind::recompute, stage, pass, end);
      }
      break;
    case PassKind::recompute:
      give(backward_ ? PassKind::forward : gradient_, stage, pass, end);
      break;
    case PassKind::weight_grad:
      if (backward_) give(gradient_, stage, pass, end);
      break;
    case PassKind::input_grad:
    case PassKind::backward:
      if (backward_) {
        give(is_last ? PassKind::forward : gradient_, is_last ? stage : stage + 1, pass, end);
        if (recomputes) give(PassKind::recompute, stage, pass, end);
      } else {
        if (pass.kind == PassKind::input_grad) give(PassKind::weight_grad, stage, pass, end);
        if (stage > 0) give(gradient_, stage - 1, pass, end);
      }
      break;
    case PassKind::output:
    case PassKind::output_grad:
      throw std::logic_error("an order that is searched has no passes of a split vocabulary");
  }
}

void Justifier::Filler::give(PassKind kind, std::uint32_t stage, const Pass& from, double end) {
  const std::uint32_t here = device_of_[from.stage];
  const std::uint32_t there = device_of_[stage];
  Input& input = input_of(kind, stage, from.microbatch);
  input.ready = std::max(input.ready, end + (here == there ? 0 : pipeline_.hop));
  if (--input.missing > 0 || here == there) return;
  // An idle device looks for a pass again at the time when this input arrives.
  const double again = std::max(input.ready, devices_[there].free_at);
  if (again < agenda_.time(there)) agenda_.set(there, again);
}

Justifier::Justifier(const Pipeline& pipeline) : pipeline_(pipeline) {}

Plan Justifier::fill(const Plan& reference, Pull pull, Direction direction,
                     const std::vector<double>& release) const {
  return Filler(pipeline_, reference, pull, direction == Direction::backward, release).run();
}

Plan Justifier::plan(const Order& order) const {
  return fill({.order = order, .start = {}}, Pull::none, Direction::forward, {});
}

Plan Justifier::improve(const Plan& plan, Pull pull, Objective objective, int rounds) const {
  // Returns the plan mirrored in time: the pass that ends last starts first.
  const auto mirror = [&](Plan mirrored) {
    for (std::size_t device = 0; device < mirrored.order.size(); ++device) {
      auto& order = mirrored.order[device];
      auto& start = mirrored.start[device];
      for (std::size_t i = 0; i < order.size(); ++i)
        start[i] = mirrored.makespan - start[i] - pipeline_.times(order[i]);
      std::reverse(order.begin(), order.end());
      std::reverse(start.begin(), start.end());
    }
    return mirrored;
  };
  if (plan.makespan == never) return plan;
  Plan current = fill(plan, pull, Direction::forward, {});
  Plan best = better(plan, current, objective) ? plan : current;
  for (int round = 0; round < rounds; ++round) {
    // The mirrored sweep may start all devices at once if it minimises the makespan. For the
    // longest span, a device that starts later may also end later by as much.
    std::vector<double> release;
    if (objective == Objective::span) {
      double latest = 0;
      for (const auto& start : current.start) latest = std::max(latest, start.front());
      for (const auto& start : current.start) release.push_back(latest - start.front());
    }
    Plan mirrored = mirror(std::move(current));
    double late = 0;  // Shift of the plan that makes every device start after its release.
    for (std::size_t device = 0; device < release.size(); ++device)
      late = std::max(late, release[device] - mirrored.start[device].front());
    for (auto& starts : mirrored.start)
      for (double& start : starts) start += late;
    mirrored = fill(mirrored, pull, Direction::backward, release);
    if (mirrored.makespan == never) break;
    current = fill(mirror(mirrored), pull, Direction::forward, {});
    if (current.makespan == never) break;
    if (better(current, best, objective))
      best = current;
    else if (round > 0)
      break;
  }
  return best;
}

bool better(const Plan& a, const Plan& b, Objective objective) {
  const double first = objective == Objective::span ? a.span - b.span : a.makespan - b.makespan;
  const double second = objective == Objective::span ? a.makespan - b.makespan : a.span - b.span;
  const double tolerance = 1e-9 * a.makespan;
  if (b.makespan == never) return a.makespan < never;
  if (a.makespan == never) return false;
  return first < -tolerance || (first <= tolerance && second < -tolerance);
}

}  // namespace pipewright::schedules
