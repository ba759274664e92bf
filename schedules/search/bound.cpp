#include "schedules/search/bound.hpp"

#include <algorithm>

namespace pipewright::schedules {
namespace {

// Replaces split backwards by whole ones: I takes as long as B, and W takes no time.
Pipeline with_whole_backwards(Pipeline pipeline) {
  PassTimes& times = pipeline.times;
  times[PassKind::input_grad] = times[PassKind::backward];
  times[PassKind::weight_grad].assign(times[PassKind::backward].size(), 0);
  pipeline.memory.released_by_input_grad = pipeline.memory.held;
  return pipeline;
}

// Returns true if on some stage a whole backward takes less time than I and W together: each pass
// has an overhead, and collectives overlap better with a whole backward.
bool is_shorter_whole(const PassTimes& times) {
  const std::vector<double>& whole = times[PassKind::backward];
  for (std::size_t stage = 0; stage < whole.size(); ++stage)
    if (whole[stage] < times[PassKind::input_grad][stage] + times[PassKind::weight_grad][stage])
      return true;
  return false;
}

// Times of one microbatch's path through the stages, in seconds, stored as prefix sums.
class MicrobatchPath {
 public:
  explicit MicrobatchPath(const Pipeline& pipeline) : pipeline_(pipeline) {
    const std::uint32_t stages = pipeline.routes.stages();
    forward_.resize(stages + 1);
    input_grad_.resize(stages + 1);
    hops_.resize(stages + 1);
    for (std::uint32_t s = 0; s < stages; ++s) {
      const bool crosses =
          s > 0 && pipeline.routes.device(s, 0) != pipeline.routes.device(s - 1, 0);
      forward_[s + 1] = forward_[s] + time(PassKind::forward, s);
      input_grad_[s + 1] = input_grad_[s] + time(PassKind::input_grad, s);
      hops_[s + 1] = hops_[s] + (crosses ? pipeline.hop : 0);
    }
  }

  std::uint32_t stages() const { return pipeline_.routes.stages(); }
  double time(PassKind kind, std::uint32_t stage) const { return pipeline_.times[kind][stage]; }
  // Time from the start of F on stage `from` to the start of F on `to`.
  double down(std::uint32_t from, std::uint32_t to) const {
    return forward_[to] - forward_[from] + hops_[to + 1] - hops_[from + 1];
  }
  // Time from the start of I on stage `from` to the start of I on the earlier stage `to`.
  double up(std::uint32_t from, std::uint32_t to) const {
    return input_grad_[from + 1] - input_grad_[to + 1] + hops_[from + 1] - hops_[to + 1];
  }
  // Time from the end of I on stage `from` to the end of I on the first stage.
  double tail(std::uint32_t from) const { return input_grad_[from] + hops_[from + 1] - hops_[1]; }
  // Time from the start of F on stage `from` to the start of I on `to`.
  double around(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t last = stages() - 1;
    return down(from, last) + time(PassKind::forward, last) + up(last, to);
  }

 private:
  const Pipeline& pipeline_;
  std::vector<double> forward_, input_grad_, hops_;
};

// Returns an upper bound, in seconds, of the work whose activations fit into `room`. It follows
// from the size of the smallest activation, and from the stage with the most work per memory.
double max_work(const Pipeline& pipeline, const std::vector<std::uint32_t>& stages,
                const std::vector<double>& work, std::int64_t room) {
  std::int64_t smallest = room + 1;
  double longest = 0;
  double densest = 0;
  double total = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::int64_t held = pipeline.memory.held[stages[i]];
    total += work[i] * pipeline.microbatches;
    if (held <= 0)
      return total * static_cast<double>(stages.size());  // Memory does not limit the work.
    smallest = std::min(smallest, held);
    longest = std::max(longest, work[i]);
    densest = std::max(densest, work[i] / static_cast<double>(held));
  }
  const std::int64_t whole = room / smallest;
  return std::min(
      {total, static_cast<double>(whole) * longest, static_cast<double>(room) * densest});
}

double bound_of_device(const Pipeline& pipeline, const MicrobatchPath& path,
                       const std::vector<std::uint32_t>& stages, std::int64_t limit,
                       Objective objective, double tail) {
  const std::uint32_t low = stages.front();
  const std::uint32_t high = stages.back();
  const std::uint32_t microbatches = pipeline.microbatches;
  double work = 0;
  double memory = 0;  // Activations of one microbatch.
  // Activations of one microbatch times the seconds for which they are held.
  double memory_time = 0;
  std::vector<double> forwards, gradients;
  for (const std::uint32_t s : stages) {
    const double f = path.time(PassKind::forward, s);
    const double i = path.time(PassKind::input_grad, s);
    const double w = path.time(PassKind::weight_grad, s);
    const auto held = static_cast<double>(pipeline.memory.held[s]);
    const auto early = static_cast<double>(pipeline.memory.released_by_input_grad[s]);
    forwards.push_back(f);
    gradients.push_back(i + w);
    work += microbatches * (f + i + w);
    memory += held;
    memory_time += held * (path.around(s, s) + i) + (held - early) * w;
  }

  // Most seconds of F before the first I.
  const double before = max_work(pipeline, stages, forwards, limit);
  // Most seconds of I and W after the last F.
  const double after = max_work(pipeline, stages, gradients, limit);
  // Shortest time from the start of F on stage `from` to the first I of this device; and from its
  // last F, on its highest stage, to the end of W on stage `to`.
  const auto to_first_gradient = [&](std::uint32_t from) { return path.around(from, high); };
  const auto from_last_forward = [&](std::uint32_t to) {
    return path.around(high, to) - path.time(PassKind::forward, high) +
           path.time(PassKind::input_grad, to) + path.time(PassKind::weight_grad, to);
  };
  const bool of_span = objective == Objective::span;
  const double first_start = of_span ? 0 : path.down(0, low);
  const std::uint32_t end = of_span ? low : 0;
  const double idle_before = std::max(first_start, to_first_gradient(end) - before);
  const double idle_after = std::max(tail, from_last_forward(end) - after);
  // The two idle times cannot overlap, and add up, if memory forces an F to run after the first I.
  const bool apart = memory * microbatches > static_cast<double>(limit);
  double bound = work + (apart ? idle_before + idle_after : std::max(idle_before, idle_after));
  bound = std::max(bound, work + first_start + tail);
  // The span of the first stage's device contains the time in which this device works between its
  // first I and its last F.
  if (apart)
    bound = std::max(bound, to_first_gradient(0) - before + work - after + from_last_forward(0));
  if (limit > 0) bound = std::max(bound, microbatches * memory_time / static_cast<double>(limit));
  return bound;
}

std::vector<std::vector<std::uint32_t>> stages_by_device(const Pipeline& pipeline) {
  std::vector<std::vector<std::uint32_t>> stages(pipeline.devices);
  for (std::uint32_t s = 0; s < pipeline.routes.stages(); ++s)
    stages[pipeline.routes.device(s, 0)].push_back(s);
  return stages;
}

}  // namespace

namespace {

enum class Backwards : std::uint8_t { split, whole };

double bound_of_orders(const Pipeline& pipeline, Backwards backwards, Objective objective) {
  const MicrobatchPath path(pipeline);
  const auto stages = stages_by_device(pipeline);
  double bound = 0;
  if (objective == Objective::makespan)
    bound = path.around(0, 0) + path.time(PassKind::input_grad, 0) +
            path.time(PassKind::weight_grad, 0);
  for (std::uint32_t device = 0; device < pipeline.devices; ++device) {
    double tail = 0;  // Whole backwards only: the last gradient still travels to the first stage.
    if (backwards == Backwards::whole && objective == Objective::makespan)
      tail = path.tail(stages[device].front());
    bound = std::max(bound, bound_of_device(pipeline, path, stages[device],
                                            pipeline.memory.limit[device], objective, tail));
  }
  return bound;
}

}  // namespace

double lower_bound(const Pipeline& pipeline, Objective objective) {
  const double split = bound_of_orders(pipeline, Backwards::split, objective);
  if (!is_shorter_whole(pipeline.times)) return split;
  return std::min(split,
                  bound_of_orders(with_whole_backwards(pipeline), Backwards::whole, objective));
}

std::vector<std::int64_t> least_memory(const Pipeline& pipeline) {
  std::vector<std::int64_t> limits(pipeline.devices);
  for (std::uint32_t s = 0; s < pipeline.routes.stages(); ++s)
    limits[pipeline.routes.device(s, 0)] += pipeline.memory.held[s];
  return limits;
}

bool fits(const Pipeline& pipeline) {
  const std::vector<std::int64_t> required = least_memory(pipeline);
  for (std::uint32_t device = 0; device < pipeline.devices; ++device)
    if (required[device] > pipeline.memory.limit[device]) return false;
  return true;
}

}  // namespace pipewright::schedules
