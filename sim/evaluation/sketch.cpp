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

constexpr double rounding = 1e-9;  // the same sums in other orders

// Seconds of a kind's pass of a stage: of one that runs in pairs its kernels alone, as the other
// may hide all that it waits for.
double seconds_of(const workload::StageCosts& costs, PassKind kind, std::uint32_t stage,
                  bool in_pairs) {
  const std::vector<double>& of_stage = costs.times[kind];
  if (of_stage.empty()) return 0;
  const schedules::Pass pass{kind, static_cast<std::uint16_t>(stage), 0};
  const auto waits = [&](const workload::StageCosts::ByKindAndStage& of) {
    return workload::StageCosts::of(of, pass);
  };
  const double hidden =
      in_pairs ? std::max(waits(costs.host_waits), waits(costs.collective_waits)) : 0;
  return std::max(0.0, of_stage[stage] - hidden);
}

// A pass that does all of the backward work, or as much of it as others wait for.
struct Backward {
  double all = 0;
  double awaited = 0;
};

Backward backward_of(const workload::StageCosts& costs, bool whole_backward, std::uint32_t stage,
                     bool in_pairs) {
  const auto of = [&](PassKind kind) { return seconds_of(costs, kind, stage, in_pairs); };
  const double whole = of(PassKind::backward);
  if (whole_backward && !in_pairs) return {whole, whole};
  const double input = of(PassKind::input_grad);
  return {std::min(whole, input + of(PassKind::weight_grad)), std::min(whole, input)};
}

}  // namespace

Sketches::Sketches(const config::Scenario& scenario, const Hardware& hardware,
                   std::vector<std::uint64_t> capacity, workload::Planner::Settle settle)
    : scenario_(scenario),
      hardware_(hardware),
      capacity_(std::move(capacity)),
      settle_(std::move(settle)) {}

const Sketches::Placed& Sketches::placed(const schedules::Routes& routes, std::uint32_t slices,
                                         const config::ScheduleSpec& spec) {
  const auto known = std::ranges::find_if(
      placed_, [&](const Placed& one) { return one.slices == slices && one.routes == routes; });
  if (known != placed_.end()) return *known;
  Placed placed{.routes = routes, .slices = slices};
  schedules::Schedule placement = workload::on_placement(scenario_, routes, spec.name);
  placement.slices = slices;
  placed.costs = workload::shared_costs(scenario_, placement, hardware_.gpus);
  if (settle_) settle_(placement, placed.costs);
  const execution::Job job = plain_job(scenario_, hardware_, placement, placed.costs);
  placed.step_s = execution::least_step(job, 1);
  placed.is_even = job.slowdown.empty() && !job.uneven;
  return placed_.emplace_back(std::move(placed));
}

// A device's first pass waits for the forward passes of the stages before its own, and behind its
// last backward pass come those of these stages.
double Sketches::least_seconds(const Placed& placed, const Rule& rule) const {
  const schedules::Routes& routes = placed.routes;
  const std::uint32_t devices = scenario_.devices.value;
  struct Device {
    double all = 0;      // of an iteration's passes
    double awaited = 0;  // without weight gradients that run apart
    double head = std::numeric_limits<double>::infinity();
    double tail = head;
  };
  std::vector<Device> work(devices);
  const std::uint32_t of_route = scenario_.microbatches.value / routes.count();
  const double times = static_cast<double>(of_route) * placed.slices;  // that a pass runs
  for (std::uint32_t route = 0; route < routes.count(); ++route) {
    double head = 0;
    double tail = 0;
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      Device& device = work[routes.device(stage, route)];
      const double forward = seconds_of(placed.costs, PassKind::forward, stage, rule.in_pairs);
      const Backward backward =
          backward_of(placed.costs, rule.whole_backward, stage, rule.in_pairs);
      device.all += times * (forward + backward.all);
      device.awaited += times * (forward + backward.awaited);
      device.head = std::min(device.head, head);
      device.tail = std::min(device.tail, tail);
      head += forward;
      tail += backward.awaited;
    }
  }
  // Iterations that follow one another may overlap.
  const bool alone = scenario_.iterations.value == 1;
  double seconds = 0;
  for (const Device& device : work)
    seconds =
        std::max(seconds, alone ? device.head + std::max(device.all, device.awaited + device.tail)
                                : device.all);
  return seconds;
}

// With one microbatch in flight, which all stages hold when its loss is made; on two routes it is
// on one of them.
std::uint64_t Sketches::held(const Placed& placed, std::uint32_t device, const Rule& rule) const {
  const workload::DeviceState& state = placed.costs.state[device];
  const schedules::Routes& routes = placed.routes;
  std::uint64_t in_flight = 0;
  for (std::uint32_t route = 0; rule.holds_all && route < routes.count(); ++route) {
    std::uint64_t of_route = 0;
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
      if (routes.device(stage, route) == device)
        of_route += placed.costs.activations[stage].held * placed.slices;
    in_flight = std::max(in_flight, of_route);
  }
  return state.weights + state.gradients + state.optimizer + state.buffers + state.allowance +
         in_flight;
}

analysis::CandidateRow Sketches::on(const Placed& placed, const Rule& rule) const {
  const schedules::Schedule placement = workload::on_placement(scenario_, placed.routes);
  analysis::CandidateRow row{.outcome = analysis::Outcome::open,
                             .work = work_of(scenario_, placement, placed.costs)};
  double most = -1;
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t fullest = 0;
  for (std::uint32_t device = 0; device < scenario_.devices.value; ++device) {
    const std::uint64_t room = std::max<std::uint64_t>(1, capacity_[device]);
    smallest = std::min(smallest, room);
    const double full = static_cast<double>(held(placed, device, rule)) / static_cast<double>(room);
    if (full <= most) continue;
    most = full;
    fullest = device;
  }
  row.peak_bytes =
      static_cast<std::uint64_t>(most * static_cast<double>(smallest) * (1 - rounding));
  row.capacity_bytes = capacity_[fullest];
  const std::uint64_t least = held(placed, fullest, rule);
  if (row.capacity_bytes > 0 && least > row.capacity_bytes) {
    row.outcome = analysis::Outcome::does_not_fit;
    row.peak_bytes = least;
    row.note =
        fmt::format("device {}: {} of {}, with one microbatch in flight", fullest,
                    analysis::format_bytes(least), analysis::format_bytes(row.capacity_bytes));
    return row;
  }
  row.bound_s = (least_seconds(placed, rule) + placed.step_s) * (1 - rounding);
  return row;
}

std::optional<analysis::CandidateRow> Sketches::of(const config::ScheduleSpec& spec) {
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
  std::optional<analysis::CandidateRow> least;
  std::optional<config::Error> why_not;
  for (const schedules::Routes& routes : placements) try {
      const Placed& on_these = placed(routes, slices, spec);
      if (!on_these.is_even) return std::nullopt;
      const analysis::CandidateRow row = on(on_these, rule);
      const bool fits = row.outcome == analysis::Outcome::open;
      if (!least || (fits && least->outcome != analysis::Outcome::open)) {
        least = row;
      } else if (fits == (least->outcome == analysis::Outcome::open)) {
        least->bound_s = std::min(least->bound_s, row.bound_s);
        least->peak_bytes = std::min(least->peak_bytes, row.peak_bytes);
      }
    } catch (const config::Error& error) {
      why_not = error;  // a placement that the scenario cannot have
    }
  if (!least) throw config::Error(why_not.value());
  return least;
}

}  // namespace pipewright::evaluation
