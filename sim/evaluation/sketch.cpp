#include "sim/evaluation/sketch.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/search/search.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/timing/engine.hpp"

namespace pipewright::evaluation {
namespace {

using schedules::PassKind;

// Relative tolerance for bounds whose sums add in another order than the simulation.
constexpr double sum_tolerance = 1e-9;

// Seconds of one pass of a kind and stage. A pass that may run in a fused pair counts with its
// kernels only, because the other pass may hide all its waits.
double seconds_of(const workload::StageCosts& costs, PassKind kind, std::uint32_t stage,
                  bool in_pairs) {
  const std::vector<double>& seconds_by_stage = costs.times[kind];
  if (seconds_by_stage.empty()) return 0;
  const schedules::Pass pass{kind, static_cast<std::uint16_t>(stage), 0};
  const auto waits = [&](const workload::StageCosts::ByKindAndStage& costs_of_kind) {
    return workload::StageCosts::of(costs_of_kind, pass);
  };
  const double hidden =
      in_pairs ? std::max(waits(costs.host_waits), waits(costs.collective_waits)) : 0;
  return std::max(0.0, seconds_by_stage[stage] - hidden);
}

// Seconds of the backward passes of a stage for one microbatch, and of those among them that other
// stages wait for.
struct Backward {
  double total = 0;
  double awaited = 0;
};

Backward backward_of(const workload::StageCosts& costs, bool whole_backward, std::uint32_t stage,
                     bool in_pairs) {
  const auto seconds = [&](PassKind kind) { return seconds_of(costs, kind, stage, in_pairs); };
  const double combined = seconds(PassKind::backward);
  if (whole_backward && !in_pairs) return {combined, combined};
  const double input = seconds(PassKind::input_grad);
  return {std::min(combined, input + seconds(PassKind::weight_grad)), std::min(combined, input)};
}

}  // namespace

Sketches::Sketches(const config::Scenario& scenario, const Hardware& hardware,
                   std::vector<std::uint64_t> capacity, workload::Planner::Settle settle)
    : scenario_(scenario),
      hardware_(hardware),
      capacity_(std::move(capacity)),
      settle_(std::move(settle)) {}

const Sketches::PlacedCosts& Sketches::place(const schedules::Routes& routes, std::uint32_t slices,
                                             const config::ScheduleSpec& spec) {
  const auto it = std::ranges::find_if(placements_, [&](const PlacedCosts& candidate) {
    return candidate.slices == slices && candidate.routes == routes;
  });
  if (it != placements_.end()) return *it;
  PlacedCosts placement{.routes = routes, .slices = slices};
  schedules::Schedule schedule = workload::on_placement(scenario_, routes, spec.name);
  schedule.slices = slices;
  placement.costs = workload::shared_costs(scenario_, schedule, hardware_.gpus);
  if (settle_) settle_(schedule, placement.costs);
  const execution::Job job = plain_job(scenario_, hardware_, schedule, placement.costs);
  placement.step_s = execution::least_step(job, 1);
  placement.is_even = job.slowdown.empty() && !job.uneven;
  return placements_.emplace_back(std::move(placement));
}

// A device's first pass follows the forward passes of all previous stages, and its last backward
// pass precedes the backward passes of those stages.
double Sketches::least_seconds(const PlacedCosts& placement, const Rule& rule) const {
  const schedules::Routes& routes = placement.routes;
  const std::uint32_t devices = scenario_.devices.value;
  struct Device {
    double total = 0;    // of the passes of an iteration
    double awaited = 0;  // without weight gradients that run separately
    double head = std::numeric_limits<double>::infinity();
    double tail = head;
  };
  std::vector<Device> work(devices);
  const std::uint32_t microbatches_per_route = scenario_.microbatches.value / routes.count();
  const double times = static_cast<double>(microbatches_per_route) *
                       placement.slices;  // number of runs of each pass
  for (std::uint32_t route = 0; route < routes.count(); ++route) {
    double head = 0;
    double tail = 0;
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      Device& device = work[routes.device(stage, route)];
      const double forward = seconds_of(placement.costs, PassKind::forward, stage, rule.in_pairs);
      const Backward backward =
          backward_of(placement.costs, rule.whole_backward, stage, rule.in_pairs);
      double outside = 0;  // S and T of a split vocabulary
      for (const PassKind kind : {PassKind::output, PassKind::output_grad})
        outside += seconds_of(placement.costs, kind, stage, false);
      device.total += times * (forward + backward.total + outside);
      device.awaited += times * (forward + backward.awaited + outside);
      device.head = std::min(device.head, head);
      device.tail = std::min(device.tail, tail);
      head += forward;
      tail += backward.awaited;
    }
  }
  // Consecutive iterations may overlap, so that filling and draining the pipeline counts only if
  // there is a single one.
  const bool is_single_iteration = scenario_.iterations.value == 1;
  double seconds = 0;
  for (const Device& device : work)
    seconds =
        std::max(seconds, is_single_iteration
                              ? device.head + std::max(device.total, device.awaited + device.tail)
                              : device.total);
  return seconds;
}

// Memory when the loss of the only microbatch in flight is computed: all stages on the microbatch's
// route hold their activations. With two routes, the microbatch takes one of them.
std::uint64_t Sketches::held_bytes(const PlacedCosts& placement, std::uint32_t device,
                                   const Rule& rule) const {
  const workload::DeviceState& state = placement.costs.state[device];
  const schedules::Routes& routes = placement.routes;
  std::uint64_t in_flight = 0;
  for (std::uint32_t route = 0; rule.holds_all && route < routes.count(); ++route) {
    std::uint64_t route_bytes = 0;
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
      if (routes.device(stage, route) == device)
        route_bytes += placement.costs.activations[stage].held * placement.slices;
    in_flight = std::max(in_flight, route_bytes);
  }
  return state.weights + state.gradients + state.optimizer + state.buffers + state.allowance +
         in_flight;
}

analysis::CandidateRow Sketches::row_for(const PlacedCosts& placed_costs, const Rule& rule) const {
  const schedules::Schedule placement = workload::on_placement(scenario_, placed_costs.routes);
  analysis::CandidateRow row{.outcome = analysis::Outcome::open,
                             .work = work_of(scenario_, placement, placed_costs.costs)};
  double highest_fill = -1;
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t fullest = 0;
  for (std::uint32_t device = 0; device < scenario_.devices.value; ++device) {
    const std::uint64_t room = std::max<std::uint64_t>(1, capacity_[device]);
    smallest = std::min(smallest, room);
    const double fill =
        static_cast<double>(held_bytes(placed_costs, device, rule)) / static_cast<double>(room);
    if (fill <= highest_fill) continue;
    highest_fill = fill;
    fullest = device;
  }
  row.peak_bytes = static_cast<std::uint64_t>(highest_fill * static_cast<double>(smallest) *
                                              (1 - sum_tolerance));
  row.capacity_bytes = capacity_[fullest];
  const std::uint64_t fullest_bytes = held_bytes(placed_costs, fullest, rule);
  if (row.capacity_bytes > 0 && fullest_bytes > row.capacity_bytes) {
    row.outcome = analysis::Outcome::does_not_fit;
    row.peak_bytes = fullest_bytes;
    row.note = fmt::format("device {}: {} of {}, with one microbatch in flight", fullest,
                           analysis::format_bytes(fullest_bytes),
                           analysis::format_bytes(row.capacity_bytes));
    return row;
  }
  row.bound_s = (least_seconds(placed_costs, rule) + placed_costs.step_s) * (1 - sum_tolerance);
  return row;
}

std::optional<analysis::CandidateRow> Sketches::sketch(const config::ScheduleSpec& spec) {
  using schedules::Parameters;
  if (!scenario_.model || scenario_.variation.is_random()) return std::nullopt;
  Parameters parameters{.devices = scenario_.devices.value,
                        .microbatches = scenario_.microbatches.value};
  std::vector<schedules::Routes> placements;
  Rule rule;
  std::uint32_t slices = 1;
  if (config::schedule_source(spec.name) == config::ScheduleSource::search) {
    placements = schedules::searched_placements(parameters.devices);
  } else {
    const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
    if (entry == schedules::catalog().end()) return std::nullopt;
    spec.put_choices(parameters);
    placements.push_back(entry->placement(parameters));
    rule = {.whole_backward = entry->whole_backward,
            .in_pairs = entry->takes(&Parameters::fused),
            .holds_all = parameters.recompute.value_or(0) == 0};
    if (entry->takes(&Parameters::slices))
      slices = parameters.slices.value_or(schedules::usual_slices);
  }
  workload::check_vocabulary(scenario_, spec);
  std::optional<analysis::CandidateRow> bound;
  std::optional<config::Error> last_error;
  for (const schedules::Routes& routes : placements) try {
      const PlacedCosts& placement = place(routes, slices, spec);
      if (!placement.is_even) return std::nullopt;
      const analysis::CandidateRow row = row_for(placement, rule);
      const bool fits = row.outcome == analysis::Outcome::open;
      if (!bound || (fits && bound->outcome != analysis::Outcome::open)) {
        bound = row;
      } else if (fits == (bound->outcome == analysis::Outcome::open)) {
        bound->bound_s = std::min(bound->bound_s, row.bound_s);
        bound->peak_bytes = std::min(bound->peak_bytes, row.peak_bytes);
      }
    } catch (const config::Error& error) {
      last_error = error;  // a placement that the scenario does not allow
    }
  if (!bound) throw config::Error(last_error.value());
  return bound;
}

}  // namespace pipewright::evaluation
