#include "sim/evaluation/sharing/joint_run.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/trace/first_iterations.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/evaluation/job_info.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/evaluation/sizes.hpp"

namespace pipewright::evaluation {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw config::Error(fmt::format("{}: {}", name, what));
}

void check(const std::string& name, const config::Scenario& scenario,
           const config::Scenario& first) {
  if (!scenario.cluster)
    refuse(name, "has no cluster, and on an ideal network nothing meets; give --cluster");
  if (scenario.cluster->value != first.cluster->value)
    refuse(name, fmt::format("is on {}, and the first job on {}; jobs that run together are on one "
                             "cluster: give --cluster",
                             scenario.cluster->value.string(), first.cluster->value.string()));
  if (scenario.engine != config::Engine::simgrid)
    refuse(name, "engine: timing knows no contention; leave it out");
  if (scenario.schedules.size() != 1)
    refuse(name, fmt::format("has {} schedules, and a job runs one; name one with --schedule",
                             scenario.schedules.size()));
  const config::Communication& talk = scenario.communication;
  if (talk.multipath != first.communication.multipath || talk.nccl != first.communication.nccl)
    refuse(name,
           "communication.multipath and communication.nccl are of the cluster, and differ from "
           "those of the first job; give all jobs the same");
}

// What one of the scenarios says is slow, all of them find slow.
cluster::Cluster open_for_all(std::span<const config::Scenario> scenarios) {
  config::Scenario first = scenarios.front();
  for (const config::Scenario& other : scenarios.subspan(1))
    for (const config::Variation::SlowLink& link : other.variation.links) {
      const auto same = [&](const auto& known) { return known.link == link.link; };
      if (std::ranges::none_of(first.variation.links, same)) first.variation.links.push_back(link);
    }
  return open_cluster(first);
}

void set(config::Value& tree, const char* key, const std::string& value) {
  config::set_key(tree, key, config::make_text(value, {.source = "--together"}));
}

}  // namespace

PlacedJob::PlacedJob(std::string called, const config::Value& given,
                     const cluster::Cluster& cluster)
    : name(std::move(called)),
      tree(given),
      scenario(config::read_scenario(tree)),
      hardware(place_on(cluster, scenario)),
      plan(plan_on(scenario, scenario.schedules.front(), hardware)),
      job(make_job(scenario, hardware, plan)),
      info(job_info(scenario, hardware, plan)) {}

JointRun::JointRun(std::vector<NamedTree> jobs, Placing placing) {
  std::vector<config::Scenario> scenarios;
  for (const NamedTree& one : jobs) {
    scenarios.push_back(config::read_scenario(one.tree));
    check(one.name, scenarios.back(), scenarios.front());
    enough_ = std::max(enough_, scenarios.back().iterations.value);
  }
  const cluster::Cluster cluster = open_for_all(scenarios);
  std::vector<NamedScenario> named;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    check_layout(scenarios[i], cluster);
    named.push_back({jobs[i].name, scenarios[i]});
  }
  const auto hosts = place_jobs(named, cluster, placing);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<std::string> names;
    for (const cluster::Host* host : hosts[i]) names.push_back(cluster::name_of(host));
    config::set_key(jobs[i].tree, "placement", config::make_list(names, {.source = "--together"}));
    set(jobs[i].tree, "iterations", std::to_string(enough_ + 1));
    if (scenarios[i].symmetric) {
      set(jobs[i].tree, "symmetric", "false");
      notes_.push_back(fmt::format(
          "{}: all replicas are simulated, for beside other jobs they are not symmetric",
          jobs[i].name));
    }
    jobs_.push_back(std::make_unique<PlacedJob>(jobs[i].name, jobs[i].tree, cluster));
    const Hardware& hardware = jobs_.back()->hardware;
    if (const auto note = straddling(hardware.ranks, hardware.hosts, cluster).note(); !note.empty())
      notes_.push_back(fmt::format("{}: {}", jobs[i].name, note));
  }
  look_for_shared_links();
}

void JointRun::look_for_shared_links() {
  std::vector<execution::LinksOfJob> links;
  for (const auto& one : jobs_) links.push_back(execution::links_of(one->job));
  const auto meet = [](const auto& some, const auto& others) {
    return std::ranges::any_of(some, [&](const auto* link) { return others.contains(link); });
  };
  std::vector<bool> in_passes(jobs_.size());
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    for (std::size_t other = 0; other < jobs_.size(); ++other) {
      if (other == i) continue;
      const bool own = meet(links[i].in_passes, links[other].in_passes) ||
                       meet(links[i].in_passes, links[other].outside_passes);
      in_passes[i] = in_passes[i] || own;
      share_links_ =
          share_links_ || own || meet(links[i].outside_passes, links[other].outside_passes);
    }
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!in_passes[i]) continue;
    PlacedJob& one = *jobs_[i];
    const bool was_full = one.job.has_full_detail();
    set(one.tree, "communication.detail", "full");
    jobs_[i] = std::make_unique<PlacedJob>(one.name, one.tree, one.hardware.cluster);
    jobs_[i]->in_passes = true;
    if (!was_full)
      notes_.push_back(
          fmt::format("{}: collectives within its passes cross links that another job uses, and "
                      "are simulated one by one (communication.detail: full)",
                      jobs_[i]->name));
  }
}

void JointRun::set_iterations(std::size_t number, std::uint32_t iterations) {
  PlacedJob& one = *jobs_[number];
  if (one.plan.schedule.iterations == iterations) return;
  set(one.tree, "iterations", std::to_string(iterations));
  const bool in_passes = one.in_passes;
  jobs_[number] = std::make_unique<PlacedJob>(one.name, one.tree, one.hardware.cluster);
  jobs_[number]->in_passes = in_passes;
}

execution::JointResult JointRun::run(std::span<const std::size_t> jobs,
                                     const std::vector<double>& offsets,
                                     const std::vector<trace::Sink*>& sinks,
                                     std::uint32_t enough) const {
  std::vector<execution::JobStart> starts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PlacedJob& one = *jobs_[jobs[i]];
    starts.push_back({.job = one.job,
                      .offset = offsets[i],
                      .sink = *sinks[i],
                      .info = run_info(one.scenario, one.scenario.text, one.info)});
  }
  return execution::run_together(starts, enough);
}

std::vector<trace::Trace> JointRun::traces(const std::vector<double>& offsets) const {
  std::vector<std::size_t> all(jobs_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::deque<trace::TraceCollector> collectors(jobs_.size());
  std::vector<trace::Sink*> sinks;
  for (trace::TraceCollector& collector : collectors) sinks.push_back(&collector);
  const execution::JointResult together = run(all, offsets, sinks, enough_);
  std::vector<trace::Trace> traces;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    traces.push_back(trace::first_iterations(
        std::move(collectors[i].trace), static_cast<std::uint32_t>(together.jobs[i].ends.size())));
  return traces;
}

}  // namespace pipewright::evaluation
