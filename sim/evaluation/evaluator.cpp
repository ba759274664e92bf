#include "sim/evaluation/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/summary.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/search/search.hpp"
#include "sim/evaluation/layouts.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/evaluation/refusals.hpp"
#include "sim/evaluation/sketch.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/run.hpp"
#include "sim/execution/timing/engine.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/plan/planner.hpp"
#include "sim/workload/plan/searched_schedule.hpp"
#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::evaluation {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;

constexpr double gib = 0x1.0p+30;

std::size_t count_schedules(const config::Value& scenario) {
  const config::Value* const schedules = config::find(scenario, "schedule");
  return schedules != nullptr && schedules->kind == config::Value::Kind::list
             ? schedules->items.size()
             : 1;
}

// Runs `work`. If an error shows that the candidate is impossible, the row gets its message as a
// note, without the location, which is the same for all candidates of a sweep.
template <class Work>
void judge(CandidateRow& row, const Work& work) {
  const auto refuse = [&](std::string note) {
    row = {.outcome = Outcome::illegal, .note = std::move(note)};
  };
  try {
    work();
  } catch (const config::Error& error) {
    refuse(error.message());
  } catch (const schedules::Error& error) {  // includes deadlocks
    refuse(error.what());
  } catch (const cluster::Error& error) {
    refuse(error.message());
  }
}

CandidateRow row_of(const config::Scenario& scenario, const execution::Job& job,
                    const Fullest& fullest_device) {
  return {.outcome = Outcome::open,
          .work = work_of(scenario, job.schedule, job.costs),
          .peak_bytes = fullest_device.peak.bytes,
          .capacity_bytes = fullest_device.capacity};
}

// Throws if recomputation frees no memory and so only takes time: the candidate without it is
// better.
void check_recompute(const config::Scenario& scenario) {
  if (workload::recomputes_for_nothing(scenario))
    throw config::Error(
        fmt::format("recompute {} frees nothing of this model: it takes time without "
                    "saving memory",
                    to_string(scenario.training.recompute)));
}

// Throws if a scenario's stack refuses the job: `broken` are the rules that the job breaks.
void check_rules(const std::vector<config::Error>& broken) {
  if (!broken.empty()) throw config::Error(broken.front().found());
}

// Returns the placement of a schedule's stages. Returns nothing if it is not known before the
// simulation, as for an order that is searched, or if the schedule's family does not support these
// sizes.
std::optional<schedules::Routes> routes_of(const config::Scenario& scenario,
                                           const config::ScheduleSpec& spec,
                                           workload::Planner& planner) {
  const config::ScheduleSource source = config::schedule_source(spec.name);
  if (config::is_file(source)) return planner.schedule(spec)->routes;
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  if (entry == schedules::catalog().end()) return std::nullopt;
  schedules::Parameters parameters{.devices = scenario.devices.value,
                                   .microbatches = scenario.microbatches.value};
  spec.put_choices(parameters);
  try {
    return entry->placement(parameters);
  } catch (const schedules::Error&) {
    return std::nullopt;
  }
}

// Estimates the number of activities of a simulation: for each pass, the pass and its transfer; in
// full detail one for each rank of its stage; and under ZeRO-2 and ZeRO-3 two for each bucket of a
// stage's gradients.
double activity_count(const execution::Job& job) {
  double passes = 0;
  for (const schedules::Program& program : job.schedule.programs)
    passes += static_cast<double>(program.size());
  double per_pass = 2;
  if (job.has_full_detail()) per_pass += job.ranks_per_stage();
  if (job.conditions.zero >= 2 && !job.costs.traffic.empty()) {
    double buckets = 0;
    for (const workload::StageTraffic& stage : job.costs.traffic)
      buckets += workload::gradient_parts(stage.parameters, job.conditions.communication,
                                          job.ranks->group_size(workload::Group::dp));
    per_pass += 2 * buckets / static_cast<double>(job.costs.traffic.size());
  }
  return passes * per_pass * job.simulated_replicas();
}

// Returns a function that adds to the pass times of a placement the least time by which collectives
// inside passes can lengthen them. `times` returns the bounds of a job's collectives.
template <class Times>
workload::Planner::Settle settle_with(const config::Scenario& scenario, Layout& layout,
                                      const Times& times) {
  return [&scenario, &layout, times](const schedules::Schedule& schedule,
                                     workload::StageCosts& costs) {
    set_peaks(layout.hardware, costs);
    const execution::Job job = plain_job(scenario, layout.hardware, schedule, costs);
    execution::add_least_exposed_time(job, times(job), costs);
  };
}

// Bounds of a job's collectives.
execution::LeastTimes& bound_times(const config::Scenario& scenario, const execution::Job& job,
                                   Layout& layout) {
  execution::LeastTimes& times = least_times(scenario, job, layout.least_times);
  if (scenario.engine == config::Engine::timing || job.hosts.size() <= execution::enough_ranks)
    return times;
  if (!layout.bound_times) layout.bound_times.emplace(times.of_ranks(execution::enough_ranks));
  return *layout.bound_times;
}

// The same with the groups of the first replica alone, which takes a fraction of the time.
execution::LeastTimes& first_replica_times(const config::Scenario& scenario,
                                           const execution::Job& job, Layout& layout) {
  if (!layout.first_replica_times)
    layout.first_replica_times.emplace(
        least_times(scenario, job, layout.least_times).of_first_replica());
  return *layout.first_replica_times;
}

// Returns whether a schedule's order of passes is that of a family that does not plan for the times
// of its passes.
bool has_fixed_order(const config::ScheduleSpec& spec) {
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  return entry != schedules::catalog().end() && !entry->plans;
}

// Lower bound of the peak memory of a candidate whose order is searched: bytes of the fullest
// device relative to its capacity, on the best placement. When the loss is computed, the device
// holds a microbatch's activations of all its stages.
std::uint64_t least_peak(const config::Scenario& scenario, const workload::Gpus& gpus,
                         const std::vector<std::uint64_t>& capacity) {
  const auto room = [&](std::size_t device) {
    return static_cast<double>(std::max<std::uint64_t>(1, capacity[device]));
  };
  double smallest_capacity = room(0);
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& routes : schedules::searched_placements(scenario.devices.value)) try {
      const workload::StageCosts costs =
          workload::placement_costs(scenario, routes, gpus, std::string(config::searched));
      std::vector<double> held_bytes;
      for (const workload::DeviceState& state : costs.state)
        held_bytes.push_back(
            static_cast<double>(state.weights) + static_cast<double>(state.gradients) +
            static_cast<double>(state.optimizer) + static_cast<double>(state.buffers) +
            static_cast<double>(state.allowance));
      for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
        held_bytes[routes.device(stage, 0)] += static_cast<double>(costs.activations[stage].held);
      double fullest = 0;
      for (std::size_t device = 0; device < held_bytes.size(); ++device) {
        fullest = std::max(fullest, held_bytes[device] / room(device));
        smallest_capacity = std::min(smallest_capacity, room(device));
      }
      lowest = std::min(lowest, fullest);
    } catch (const config::Error&) {
      continue;  // a placement that the scenario does not allow
    }
  constexpr double sum_tolerance = 1e-12;
  return std::isfinite(lowest)
             ? static_cast<std::uint64_t>(lowest * smallest_capacity * (1 - sum_tolerance))
             : 0;
}

// Returns the seconds of the shortest optimizer step over the placements that a searched order may
// have. Sets `work` to the work of an iteration. Throws config::Error if the scenario allows no
// placement.
double least_step_of_placements(const config::Scenario& scenario, Layout& layout,
                                analysis::IterationWork& work) {
  double shortest = std::numeric_limits<double>::infinity();
  std::optional<config::Error> first_error;
  for (const auto& routes : schedules::searched_placements(scenario.devices.value)) try {
      const schedules::Schedule placement = workload::on_placement(scenario, routes);
      workload::StageCosts costs = workload::placement_costs(scenario, routes, layout.hardware.gpus,
                                                             std::string(config::searched));
      set_peaks(layout.hardware, costs);
      const execution::Job job = plain_job(scenario, layout.hardware, placement, costs);
      execution::check_bound(job, least_times(scenario, job, layout.least_times));
      shortest = std::min(shortest, execution::least_step(job, 1));
      work = work_of(scenario, placement, costs);
    } catch (const config::Error& error) {
      if (!first_error) first_error = error;
    }
  if (!std::isfinite(shortest)) throw config::Error(*first_error);
  return shortest;
}

// Makes the request remember the pipeline of each placement instead of computing it again.
schedules::SearchRequest with_pipeline_cache(schedules::SearchRequest request) {
  using Cache = std::vector<std::pair<schedules::Routes, std::optional<schedules::Pipeline>>>;
  request.pipeline = [pipeline = std::move(request.pipeline),
                      cache = std::make_shared<Cache>()](const schedules::Routes& routes) {
    for (const auto& [placement, cached_pipeline] : *cache)
      if (placement == routes) return cached_pipeline;
    return cache->emplace_back(routes, pipeline(routes)).second;
  };
  return request;
}

void add_least_lost(const config::Scenario& scenario, Layout& layout,
                    const Evaluator::LeastLost& least_lost, std::vector<CandidateRow>& rows) {
  if (!layout.site) layout.site = site_of(layout.hardware);
  for (CandidateRow& row : rows) {
    if (row.outcome != Outcome::open) continue;
    row.site = *layout.site;
    judge(row, [&] { row.work.lost_part = least_lost(scenario, row); });
    row.site = {};
  }
}

// Returns the scenario if its model has the parameters that its file states. Loading a large
// cluster takes seconds, so that this is checked before.
const config::Scenario& checked(const config::Scenario& scenario) {
  if (scenario.model) workload::check_parameters(scenario.model->value);
  return scenario;
}

}  // namespace

struct Evaluator::Impl {
  Impl(const config::Scenario& scenario, std::uint64_t memory, bool applies_rules)
      : layouts(checked(scenario)), limit(memory), has_rules(applies_rules) {}

  std::vector<std::uint64_t> capacity(const Hardware& hardware) const;
  // Assesses the order of passes that the planner makes. `times` returns the bounds of a job's
  // collectives.
  template <class Times>
  CandidateRow assess(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                      Layout& layout, workload::Planner& planner, const Times& times) const;
  CandidateRow assess_searched(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                               Layout& layout) const;

  CandidateRow simulate(const config::Scenario& read);

  Layouts layouts;
  workload::ScheduleCache schedules;
  std::uint64_t limit;  // limit of a device's memory, in bytes; 0: its capacity
  bool has_rules;       // candidates that their stack refuses are illegal
};

std::vector<std::uint64_t> Evaluator::Impl::capacity(const Hardware& hardware) const {
  std::vector<std::uint64_t> bytes = memory_of(hardware);
  if (limit > 0) bytes.assign(bytes.size(), limit);
  return bytes;
}

// Assesses a candidate whose order is searched only when it is simulated: the bounds hold for every
// order.
CandidateRow Evaluator::Impl::assess_searched(const config::Scenario& scenario,
                                              const config::ScheduleSpec& spec,
                                              Layout& layout) const {
  workload::check_vocabulary(scenario, spec);
  const Hardware& hardware = layout.hardware;
  CandidateRow row{.outcome = Outcome::open, .work = {}};
  const double step = least_step_of_placements(scenario, layout, row.work);
  std::vector<std::uint64_t> bytes = capacity(hardware);
  row.peak_bytes = least_peak(scenario, hardware.gpus, bytes);
  if (spec.memory_limit) bytes.assign(bytes.size(), spec.memory_limit->value);
  const schedules::SearchRequest request = with_pipeline_cache(workload::search_request(
      scenario, spec, hardware.gpus,
      least_estimate(scenario, hardware, layout.least_times, capacity(hardware))));
  if (const auto min_memory = workload::least_memory(request, bytes)) {
    row.capacity_bytes = min_memory->capacity;
    if (min_memory->bytes > min_memory->capacity) {
      row.outcome = Outcome::does_not_fit;
      row.peak_bytes = min_memory->bytes;
      row.note = fmt::format("{:.1f} GiB of {:.1f} GiB, with one microbatch at a time",
                             static_cast<double>(min_memory->bytes) / gib,
                             static_cast<double>(min_memory->capacity) / gib);
      return row;
    }
  }
  // The bound of the iteration time is that of all iterations together, divided by their number,
  // because consecutive iterations may overlap.
  row.bound_s = (schedules::lower_bound(request) + step) / scenario.iterations.value;
  return row;
}

template <class Times>
CandidateRow Evaluator::Impl::assess(const config::Scenario& scenario,
                                     const config::ScheduleSpec& spec, Layout& layout,
                                     workload::Planner& planner, const Times& times_of) const {
  if (config::schedule_source(spec.name) == config::ScheduleSource::search)
    return assess_searched(scenario, spec, layout);
  const auto schedule = planner.schedule(spec);
  const workload::StageCosts& costs = planner.costs(*schedule);
  const execution::Job job = plain_job(scenario, layout.hardware, *schedule, costs);
  execution::LeastTimes& times = times_of(job);
  execution::check_bound(job, times);
  const Fullest fullest_device = fullest(job, capacity(layout.hardware));
  CandidateRow row = row_of(scenario, job, fullest_device);
  if (!fullest_device.fits()) {
    row.outcome = Outcome::does_not_fit;
    row.note = describe(fullest_device);
    return row;
  }
  row.bound_s = execution::lower_bound(job, times) / schedule->iterations;
  row.activities = activity_count(job);
  return row;
}

Evaluator::Evaluator(const config::Scenario& scenario, std::uint64_t memory, bool has_rules)
    : impl_(std::make_unique<Impl>(scenario, memory, has_rules)) {}
Evaluator::~Evaluator() = default;

std::vector<CandidateRow> Evaluator::assess(const config::Value& scenario, analysis::Basis basis,
                                            const LeastLost& least_lost) {
  std::vector<CandidateRow> rows(count_schedules(scenario));
  CandidateRow shared_row;
  judge(shared_row, [&] {
    const config::Scenario parsed = config::read_scenario(scenario);
    if (impl_->has_rules) check_rules(refusals(parsed));
    check_recompute(parsed);
    Layout& layout = impl_->layouts.find(parsed);
    const workload::NetworkEstimate estimate = estimate_network(
        parsed, layout.hardware, layout.least_times, impl_->capacity(layout.hardware));
    const auto close_times = [&](const execution::Job& job) -> execution::LeastTimes& {
      return bound_times(parsed, job, layout);
    };
    const auto rough_times = [&](const execution::Job& job) -> execution::LeastTimes& {
      return first_replica_times(parsed, job, layout);
    };
    const workload::Planner::Settle settle_roughly = settle_with(parsed, layout, rough_times);
    workload::Planner planner(parsed, layout.hardware.gpus, estimate, &impl_->schedules,
                              settle_with(parsed, layout, close_times));
    workload::Planner rough_planner(parsed, layout.hardware.gpus, estimate, &impl_->schedules,
                                    settle_roughly);
    const bool has_network = basis != analysis::Basis::passes;
    Sketches sketches(parsed, layout.hardware, impl_->capacity(layout.hardware),
                      has_network ? settle_roughly : workload::Planner::Settle());
    // A row with a bound on a rougher basis than the order of passes; nothing if there is none.
    const auto rough_row = [&](const config::ScheduleSpec& spec) {
      std::optional<CandidateRow> row = sketches.sketch(spec);
      if (!has_network || !row || row->outcome != Outcome::open || !has_fixed_order(spec))
        return row;
      const double bound_of_any_order = row->bound_s;
      row = impl_->assess(parsed, spec, layout, rough_planner, rough_times);
      if (row->outcome == Outcome::open) row->bound_s = std::max(row->bound_s, bound_of_any_order);
      return row;
    };
    rows.resize(parsed.schedules.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      judge(rows[i], [&] {
        const config::ScheduleSpec& spec = parsed.schedules[i];
        if (impl_->has_rules)
          if (const auto routes = routes_of(parsed, spec, planner))
            check_rules(refusals(parsed, spec, *routes));
        std::optional<CandidateRow> row;
        if (basis != analysis::Basis::order) row = rough_row(spec);
        if (row) row->basis = basis;
        rows[i] = row ? *row : impl_->assess(parsed, spec, layout, planner, close_times);
      });
    if (least_lost) add_least_lost(parsed, layout, least_lost, rows);
  });
  if (shared_row.outcome == Outcome::illegal) rows.assign(rows.size(), shared_row);
  return rows;
}

void Evaluator::get_ready() {
  if (const auto& cluster = impl_->layouts.cluster())
    execution::get_ready(*cluster);
  else
    execution::load_simulator();
}

CandidateRow Evaluator::simulate(const config::Value& scenario) {
  CandidateRow row;
  judge(row, [&] { row = impl_->simulate(config::read_scenario(scenario)); });
  return row;
}

CandidateRow Evaluator::Impl::simulate(const config::Scenario& scenario) {
  if (scenario.schedules.size() != 1)
    throw std::logic_error("a candidate must have exactly one schedule");
  Layout& layout = layouts.find(scenario);
  Hardware& hardware = layout.hardware;
  workload::Plan plan = workload::make_plan(
      scenario, scenario.schedules.front(), hardware.gpus,
      estimate_network(scenario, hardware, layout.least_times, capacity(hardware)));
  // An order that is searched has its placement only now.
  if (has_rules) check_rules(refusals(scenario, scenario.schedules.front(), plan.schedule.routes));
  const execution::Job job = make_job(scenario, hardware, plan);
  const Fullest fullest_device = fullest(job, capacity(hardware));
  analysis::SummarySink sink;
  TrafficSink traffic;
  trace::Tee tee({&traffic, &sink});
  execution::run(job, engine_of(scenario), {}, tee);

  const analysis::Summary& summary = sink.summary();
  // Checks the simulation's peak against the computed one. The simulated replica has the most work,
  // but another replica may hold more.
  const std::uint64_t peak = summary.devices.at(fullest_device.device).peak_memory_bytes;
  const std::uint64_t ledger_peak = fullest_device.replica == 0
                                        ? fullest_device.peak.bytes
                                        : execution::peak_memory(job, fullest_device.device).bytes;
  if (peak != ledger_peak)
    throw std::logic_error(
        fmt::format("device {} held {} bytes at its peak in the simulation, but {} in the ledger",
                    fullest_device.device, peak, ledger_peak));
  CandidateRow row = row_of(scenario, job, fullest_device);
  // The peak is compared with the capacity again, since a searched order may exceed the requested
  // memory by a little.
  row.outcome = fullest_device.fits() ? Outcome::simulated : Outcome::does_not_fit;
  row.note = fullest_device.fits()
                 ? straddling(hardware.ranks, hardware.hosts, hardware.cluster).note()
                 : describe(fullest_device);
  row.time_s = summary.makespan_s / plan.schedule.iterations;
  row.bubble_ratio = summary.bubble_ratio;
  row.span_bubble_s = summary.span_bubble_s;
  row.parts = analysis::mean_parts(summary);
  row.evidence = job.evidence;
  row.site = site_of(hardware);
  row.site.traffic_bytes = traffic.bytes(scenario, hardware);
  return row;
}

}  // namespace pipewright::evaluation
