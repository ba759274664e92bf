#include "sim/evaluation/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "analysis/summary.hpp"
#include "schedules/deadlock.hpp"
#include "schedules/search/search.hpp"
#include "sim/evaluation/layouts.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/placing.hpp"
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
  const config::Value* const given = config::find(scenario, "schedule");
  return given != nullptr && given->kind == config::Value::Kind::list ? given->items.size() : 1;
}

// Runs `work`. An error that makes the candidate impossible becomes the note of its row, without
// the place, which is the same for all candidates of a sweep.
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
    refuse(error.message);
  }
}

CandidateRow row_of(const config::Scenario& scenario, const execution::Job& job,
                    const Fullest& most) {
  return {.outcome = Outcome::open,
          .work = work_of(scenario, job.schedule, job.costs),
          .peak_bytes = most.peak.bytes,
          .capacity_bytes = most.capacity};
}

// Recomputation that makes nothing free only costs time: no candidate beside the one without.
void check_recompute(const config::Scenario& scenario) {
  if (workload::recomputes_for_nothing(scenario))
    throw config::Error(
        fmt::format("recompute {} frees nothing of this model: as with none, in "
                    "more time",
                    to_string(scenario.training.recompute)));
}

// Of a simulation, about: a pass and what it sends; each rank's part in a collective within it; and
// under ZeRO-2 and ZeRO-3 collectives after it, a bucket each.
double activities_of(const execution::Job& job) {
  double passes = 0;
  for (const schedules::Program& program : job.schedule.programs)
    passes += static_cast<double>(program.size());
  double of_pass = 2;
  if (job.has_full_detail()) of_pass += job.ranks_per_stage();
  if (job.conditions.zero >= 2 && !job.costs.traffic.empty()) {
    double buckets = 0;
    for (const workload::StageTraffic& stage : job.costs.traffic)
      buckets += workload::gradient_parts(stage.parameters, job.conditions.communication,
                                          job.ranks->group_size(workload::Group::dp));
    of_pass += 2 * buckets / static_cast<double>(job.costs.traffic.size());
  }
  return passes * of_pass * job.simulated_replicas();
}

// What the network is known to take is added to the costs of each placement.
workload::Planner::Settle settle(const config::Scenario& scenario, Layout& layout) {
  return [&](const schedules::Schedule& schedule, workload::StageCosts& costs) {
    set_peaks(layout.hardware, costs);
    const execution::Job job = plain_job(scenario, layout.hardware, schedule, costs);
    execution::add_least_exposed_time(job, least_times(scenario, job, layout.least), costs);
  };
}

// Bytes that the device that is fullest for what it has holds at its peak, on the placement where
// that is least: when the loss is made, it has a microbatch's activations of all its stages.
std::uint64_t least_peak(const config::Scenario& scenario, const workload::Gpus& gpus,
                         const std::vector<std::uint64_t>& capacity) {
  const auto room = [&](std::size_t device) {
    return static_cast<double>(std::max<std::uint64_t>(1, capacity[device]));
  };
  double smallest = room(0);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& routes : schedules::searched_placements(scenario.devices.value)) try {
      const workload::StageCosts costs =
          workload::placement_costs(scenario, routes, gpus, std::string(config::searched));
      std::vector<double> held;
      for (const workload::DeviceState& state : costs.state)
        held.push_back(static_cast<double>(state.weights) + static_cast<double>(state.gradients) +
                       static_cast<double>(state.optimizer) + static_cast<double>(state.buffers) +
                       static_cast<double>(state.allowance));
      for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
        held[routes.device(stage, 0)] += static_cast<double>(costs.activations[stage].held);
      double fullest = 0;
      for (std::size_t device = 0; device < held.size(); ++device) {
        fullest = std::max(fullest, held[device] / room(device));
        smallest = std::min(smallest, room(device));
      }
      least = std::min(least, fullest);
    } catch (const config::Error&) {
      continue;  // a placement that the scenario cannot have
    }
  constexpr double rounding = 1e-12;
  return std::isfinite(least) ? static_cast<std::uint64_t>(least * smallest * (1 - rounding)) : 0;
}

// Seconds of the shortest optimizer's step on a placement that a searched order may have, and what
// an iteration of it does. Throws config::Error where the scenario can have none of them.
double least_step_of_placements(const config::Scenario& scenario, Layout& layout,
                                analysis::IterationWork& work) {
  double least = std::numeric_limits<double>::infinity();
  std::optional<config::Error> why_not;
  for (const auto& routes : schedules::searched_placements(scenario.devices.value)) try {
      const schedules::Schedule placement = workload::on_placement(scenario, routes);
      workload::StageCosts costs = workload::placement_costs(scenario, routes, layout.hardware.gpus,
                                                             std::string(config::searched));
      set_peaks(layout.hardware, costs);
      const execution::Job job = plain_job(scenario, layout.hardware, placement, costs);
      execution::check_bound(job, least_times(scenario, job, layout.least));
      least = std::min(least, execution::least_step(job, 1));
      work = work_of(scenario, placement, costs);
    } catch (const config::Error& error) {
      if (!why_not) why_not = error;
    }
  if (!std::isfinite(least)) throw config::Error(*why_not);
  return least;
}

// The same request, of which each placement is worked out once.
schedules::SearchRequest asked_once(schedules::SearchRequest request) {
  using Known = std::vector<std::pair<schedules::Routes, std::optional<schedules::Pipeline>>>;
  request.pipeline = [pipeline = std::move(request.pipeline),
                      known = std::make_shared<Known>()](const schedules::Routes& routes) {
    for (const auto& [placement, found] : *known)
      if (placement == routes) return found;
    return known->emplace_back(routes, pipeline(routes)).second;
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

}  // namespace

struct Evaluator::Impl {
  Impl(const config::Scenario& first, std::uint64_t memory) : layouts(first), limit(memory) {
    if (first.model) workload::check_parameters(first.model->value);
  }

  std::vector<std::uint64_t> capacity(const Hardware& hardware) const;
  CandidateRow assess(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                      Layout& layout, workload::Planner& planner) const;
  CandidateRow assess_searched(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                               Layout& layout) const;

  CandidateRow simulate(const config::Scenario& read);

  Layouts layouts;
  workload::ScheduleCache schedules;
  std::uint64_t limit;  // of a device's memory, bytes; 0: what it has
};

std::vector<std::uint64_t> Evaluator::Impl::capacity(const Hardware& hardware) const {
  std::vector<std::uint64_t> bytes = memory_of(hardware);
  if (limit > 0) bytes.assign(bytes.size(), limit);
  return bytes;
}

// Of an order that is searched only when it is to be simulated: no order is shorter, and none holds
// less.
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
  const schedules::SearchRequest request = asked_once(workload::search_request(
      scenario, spec, hardware.gpus,
      least_estimate(scenario, hardware, layout.least, capacity(hardware))));
  if (const auto least = workload::least_memory(request, bytes)) {
    row.capacity_bytes = least->capacity;
    if (least->bytes > least->capacity) {
      row.outcome = Outcome::does_not_fit;
      row.peak_bytes = least->bytes;
      row.note = fmt::format("{:.1f} GiB of {:.1f} GiB, with one microbatch at a time",
                             static_cast<double>(least->bytes) / gib,
                             static_cast<double>(least->capacity) / gib);
      return row;
    }
  }
  // Iterations that follow one another may overlap.
  row.bound_s = (schedules::lower_bound(request) + step) / scenario.iterations.value;
  return row;
}

CandidateRow Evaluator::Impl::assess(const config::Scenario& scenario,
                                     const config::ScheduleSpec& spec, Layout& layout,
                                     workload::Planner& planner) const {
  if (config::schedule_source(spec.name) == config::ScheduleSource::search)
    return assess_searched(scenario, spec, layout);
  const auto schedule = planner.schedule(spec);
  const workload::StageCosts& costs = planner.costs(*schedule);
  const execution::Job job = plain_job(scenario, layout.hardware, *schedule, costs);
  execution::check_bound(job, *layout.least);
  const Fullest most = fullest(job, capacity(layout.hardware));
  CandidateRow row = row_of(scenario, job, most);
  if (!most.fits()) {
    row.outcome = Outcome::does_not_fit;
    row.note = describe(most);
    return row;
  }
  row.bound_s = execution::lower_bound(job, *layout.least) / schedule->iterations;
  row.activities = activities_of(job);
  return row;
}

Evaluator::Evaluator(const config::Scenario& first, std::uint64_t memory)
    : impl_(std::make_unique<Impl>(first, memory)) {}
Evaluator::~Evaluator() = default;

std::vector<CandidateRow> Evaluator::assess(const config::Value& scenario, analysis::Basis basis,
                                            const LeastLost& least_lost) {
  std::vector<CandidateRow> rows(count_schedules(scenario));
  CandidateRow all;
  judge(all, [&] {
    const config::Scenario read = config::read_scenario(scenario);
    check_recompute(read);
    Layout& layout = impl_->layouts.of(read);
    workload::Planner planner(
        read, layout.hardware.gpus,
        estimate_network(read, layout.hardware, layout.least, impl_->capacity(layout.hardware)),
        &impl_->schedules, settle(read, layout));
    Sketches sketches(
        read, layout.hardware, impl_->capacity(layout.hardware),
        basis == analysis::Basis::network ? settle(read, layout) : workload::Planner::Settle());
    rows.resize(read.schedules.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      judge(rows[i], [&] {
        const config::ScheduleSpec& spec = read.schedules[i];
        std::optional<CandidateRow> sketch;
        if (basis != analysis::Basis::order) sketch = sketches.of(spec);
        if (sketch) sketch->basis = basis;
        rows[i] = sketch ? *sketch : impl_->assess(read, spec, layout, planner);
      });
    if (least_lost) add_least_lost(read, layout, least_lost, rows);
  });
  if (all.outcome == Outcome::illegal) rows.assign(rows.size(), all);
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

CandidateRow Evaluator::Impl::simulate(const config::Scenario& read) {
  if (read.schedules.size() != 1) throw std::logic_error("a candidate with several schedules");
  Layout& layout = layouts.of(read);
  Hardware& hardware = layout.hardware;
  workload::Plan plan =
      workload::make_plan(read, read.schedules.front(), hardware.gpus,
                          estimate_network(read, hardware, layout.least, capacity(hardware)));
  const execution::Job job = make_job(read, hardware, plan);
  const Fullest most = fullest(job, capacity(hardware));
  analysis::SummarySink sink;
  TrafficSink traffic;
  trace::Tee tee({&traffic, &sink});
  execution::run(job, engine_of(read), {}, tee);

  const analysis::Summary& summary = sink.summary();
  // The replica that is looked at has most to do, and others may yet hold more at a time.
  const std::uint64_t peak = summary.devices.at(most.device).peak_memory_bytes;
  const std::uint64_t known =
      most.replica == 0 ? most.peak.bytes : execution::peak_memory(job, most.device).bytes;
  if (peak != known)
    throw std::logic_error(fmt::format("device {} held {} bytes at its peak, and its ledger has {}",
                                       most.device, peak, known));
  CandidateRow row = row_of(read, job, most);
  // A searched order may hold a little more than was asked for.
  row.outcome = most.fits() ? Outcome::simulated : Outcome::does_not_fit;
  row.note = most.fits() ? straddling(hardware.ranks, hardware.hosts, hardware.cluster).note()
                         : describe(most);
  row.time_s = summary.makespan_s / plan.schedule.iterations;
  row.bubble_ratio = summary.bubble_ratio;
  row.span_bubble_s = summary.span_bubble_s;
  row.parts = analysis::mean_parts(summary);
  row.assumed = job.assumed;
  row.site = site_of(hardware);
  row.site.traffic_bytes = traffic.bytes(read, hardware);
  return row;
}

}  // namespace pipewright::evaluation
