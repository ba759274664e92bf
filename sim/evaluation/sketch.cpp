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
#include "sim/execution/pass_work.hpp"
#include "sim/execution/timing/engine.hpp"
#include "sim/workload/by_stage.hpp"

namespace pipewright::evaluation {
namespace {

using schedules::PassKind;

// Relative tolerance for bounds whose sums add in another order than the simulation.
constexpr double sum_tolerance = 1e-9;

// Lower bounds on the seconds of a stage's passes for one microbatch.
struct MicrobatchSeconds {
  double forward = 0;
  double backward = 0;
  double awaited = 0;  // part of the backward passes that other stages wait for
  double output = 0;   // S and T of a split vocabulary
};

MicrobatchSeconds seconds_of(const execution::Job& job, std::uint32_t stage,
                             std::uint32_t microbatch, bool whole_backward, bool in_pairs) {
  const execution::ReplicaDevice copy{0, job.schedule.routes.device(stage, microbatch)};
  const auto seconds = [&](PassKind kind) {
    if (job.costs.times[kind].empty()) return 0.0;
    const execution::LeastWork least = execution::least_work(
        job, copy, {kind, static_cast<std::uint16_t>(stage), microbatch * job.schedule.slices});
    return in_pairs ? least.in_pair : least.alone;
  };
  const double forward = seconds(PassKind::forward);
  const double combined = seconds(PassKind::backward);
  const double output = seconds(PassKind::output) + seconds(PassKind::output_grad);
  if (whole_backward && !in_pairs) return {forward, combined, combined, output};
  const double input = seconds(PassKind::input_grad);
  return {forward, std::min(combined, input + seconds(PassKind::weight_grad)),
          std::min(combined, input), output};
}

}  // namespace

Sketches::Sketches(const config::Scenario& scenario, const Hardware& hardware,
                   std::vector<std::uint64_t> capacity, workload::Planner::Settle settle)
    : scenario_(scenario),
      hardware_(hardware),
      capacity_(std::move(capacity)),
      settle_(std::move(settle)) {}

Sketches::PlacedCosts& Sketches::place(const schedules::Routes& routes, std::uint32_t slices,
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
  placement.tokens_vary = job.tokens_vary();
  return placements_.emplace_back(std::move(placement));
}

// Adds up the passes of the first replica. Where microbatches differ, those of several iterations
// count with their mean over the iterations.
const std::vector<Sketches::StageSeconds>& Sketches::stage_seconds(PlacedCosts& placement,
                                                                   const Rule& rule) const {
  std::vector<StageSeconds>& seconds_by_stage =
      placement.seconds[rule.whole_backward ? 1 : 0][rule.in_pairs ? 1 : 0];
  if (!seconds_by_stage.empty()) return seconds_by_stage;
  schedules::Schedule schedule = workload::on_placement(scenario_, placement.routes);
  schedule.slices = placement.slices;
  schedule.iterations = scenario_.iterations.value;
  const execution::Job job = plain_job(scenario_, hardware_, schedule, placement.costs);
  const std::uint32_t routes = placement.routes.count();
  const std::uint32_t microbatches = scenario_.microbatches.value;
  const double slices = placement.slices;
  for (std::uint32_t route = 0; route < routes; ++route) {
    // The first microbatch of a route stands for all of them if they are equal.
    const bool vary = job.microbatches_vary();
    const std::uint32_t end = vary ? microbatches * schedule.iterations : route + 1;
    const std::uint32_t equal_ones =
        workload::microbatches_of(placement.routes, route, microbatches);
    const double times = slices * (vary ? 1.0 / schedule.iterations : equal_ones);
    for (std::uint32_t stage = 0; stage < placement.routes.stages(); ++stage) {
      StageSeconds sums{.least_forward = std::numeric_limits<double>::infinity(),
                        .least_awaited = std::numeric_limits<double>::infinity()};
      for (std::uint32_t microbatch = route; microbatch < end; microbatch += routes) {
        const MicrobatchSeconds pass =
            seconds_of(job, stage, microbatch, rule.whole_backward, rule.in_pairs);
        sums.total += times * (pass.forward + pass.backward + pass.output);
        sums.awaited += times * (pass.forward + pass.awaited + pass.output);
        sums.least_forward = std::min(sums.least_forward, pass.forward);
        sums.least_awaited = std::min(sums.least_awaited, pass.awaited);
      }
      seconds_by_stage.push_back(sums);
    }
  }
  return seconds_by_stage;
}

// A device's first pass follows the forward passes of all previous stages, and its last backward
// pass precedes the backward passes of those stages.
double Sketches::least_seconds(PlacedCosts& placement, const Rule& rule) const {
  const schedules::Routes& routes = placement.routes;
  const std::uint32_t devices = scenario_.devices.value;
  struct Device {
    double total = 0;    // of the passes of an iteration
    double awaited = 0;  // without weight gradients that run separately
    double head = std::numeric_limits<double>::infinity();
    double tail = head;
  };
  std::vector<Device> work(devices);
  auto seconds = stage_seconds(placement, rule).begin();
  for (std::uint32_t route = 0; route < routes.count(); ++route) {
    double head = 0;
    double tail = 0;
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage, ++seconds) {
      Device& device = work[routes.device(stage, route)];
      device.total += seconds->total;
      device.awaited += seconds->awaited;
      device.head = std::min(device.head, head);
      device.tail = std::min(device.tail, tail);
      head += seconds->least_forward;
      tail += seconds->least_awaited;
    }
  }
  // Consecutive iterations may overlap, so that filling and draining the pipeline counts only if
  // there is a single one.
  const bool is_single_iteration = scenario_.iterations.value == 1;
  double longest = 0;
  for (const Device& device : work)
    longest =
        std::max(longest, is_single_iteration
                              ? device.head + std::max(device.total, device.awaited + device.tail)
                              : device.total);
  return longest;
}

// Memory when the loss of the only microbatch in flight is computed: all stages on the microbatch's
// route hold their activations. With two routes, the microbatch takes one of them.
std::uint64_t Sketches::held_bytes(const PlacedCosts& placement, std::uint32_t device,
                                   const Rule& rule) const {
  const workload::DeviceState& state = placement.costs.state[device];
  const schedules::Routes& routes = placement.routes;
  std::uint64_t in_flight = 0;
  const bool holds_all = rule.holds_all && !placement.tokens_vary;
  for (std::uint32_t route = 0; holds_all && route < routes.count(); ++route) {
    std::uint64_t route_bytes = 0;
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
      if (routes.device(stage, route) == device)
        route_bytes += placement.costs.activations[stage].held * placement.slices;
    in_flight = std::max(in_flight, route_bytes);
  }
  return state.weights + state.gradients + state.optimizer + state.buffers + state.allowance +
         in_flight;
}

analysis::CandidateRow Sketches::row_for(PlacedCosts& placed_costs, const Rule& rule) const {
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
      PlacedCosts& placement = place(routes, slices, spec);
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
