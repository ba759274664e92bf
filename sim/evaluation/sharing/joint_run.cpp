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

config::Error job_error(const std::string& name, std::string_view reason) {
  return config::Error(fmt::format("{}: {}", name, reason));
}

void check_joint_job(const std::string& name, const config::Scenario& scenario,
                     const config::Scenario& first) {
  if (!scenario.cluster)
    throw job_error(name, "has no cluster, and jobs do not interfere on an ideal network")
        .suggest("give --cluster");
  if (scenario.cluster->value != first.cluster->value)
    throw job_error(
        name, fmt::format("is on {}, but the first job is on {}", scenario.cluster->value.string(),
                          first.cluster->value.string()))
        .suggest("jobs that run together must be on one cluster: give --cluster");
  if (scenario.engine != config::Engine::simgrid)
    throw job_error(name, "engine: timing does not model contention").suggest("leave the key out");
  if (scenario.schedules.size() != 1)
    throw job_error(name,
                    fmt::format("has {} schedules, but a job runs one", scenario.schedules.size()))
        .suggest("name one with --schedule");
  const config::Communication& communication = scenario.communication;
  if (communication.multipath != first.communication.multipath ||
      communication.nccl != first.communication.nccl)
    throw job_error(name,
                    "communication.multipath and communication.nccl apply to the cluster, but "
                    "differ from those of the first job")
        .suggest("give all jobs the same values");
}

// Opens the common cluster, with the links that any of the scenarios slows down.
cluster::Cluster open_for_all(std::span<const config::Scenario> scenarios) {
  config::Scenario first = scenarios.front();
  for (const config::Scenario& scenario : scenarios.subspan(1))
    for (const config::Variation::SlowLink& link : scenario.variation.links) {
      const auto is_same_link = [&](const auto& slow_link) { return slow_link.link == link.link; };
      if (std::ranges::none_of(first.variation.links, is_same_link))
        first.variation.links.push_back(link);
    }
  return open_cluster(first);
}

void set_joint_key(config::Value& tree, const char* key, const std::string& value) {
  config::set_key(tree, key, config::make_text(value, {.source = "--together"}));
}

}  // namespace

PlacedJob::PlacedJob(std::string job_name, const config::Value& job_tree,
                     const cluster::Cluster& cluster)
    : name(std::move(job_name)),
      tree(job_tree),
      scenario(config::read_scenario(tree)),
      hardware(place_on(cluster, scenario)),
      plan(plan_on(scenario, scenario.schedules.front(), hardware)),
      job(make_job(scenario, hardware, plan)),
      info(job_info(scenario, hardware, plan)) {}

JointRun::JointRun(std::vector<NamedTree> jobs, Placing placing) {
  std::vector<config::Scenario> scenarios;
  for (const NamedTree& job : jobs) {
    scenarios.push_back(config::read_scenario(job.tree));
    check_joint_job(job.name, scenarios.back(), scenarios.front());
    min_iterations_ = std::max(min_iterations_, scenarios.back().iterations.value);
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
    set_joint_key(jobs[i].tree, "iterations", std::to_string(min_iterations_ + 1));
    if (scenarios[i].symmetric) {
      set_joint_key(jobs[i].tree, "symmetric", "false");
      notes_.push_back(fmt::format(
          "{}: all replicas are simulated, because they are not symmetric beside other jobs",
          jobs[i].name));
    }
    jobs_.push_back(std::make_unique<PlacedJob>(jobs[i].name, jobs[i].tree, cluster));
    const Hardware& hardware = jobs_.back()->hardware;
    if (const auto note = straddling(hardware.ranks, hardware.hosts, cluster).note(); !note.empty())
      notes_.push_back(fmt::format("{}: {}", jobs[i].name, note));
  }
  find_shared_links();
}

void JointRun::find_shared_links() {
  std::vector<execution::LinksOfJob> links;
  for (const auto& job : jobs_) links.push_back(execution::links_of(job->job));
  const auto share_link = [](const auto& links_a, const auto& links_b) {
    return std::ranges::any_of(links_a, [&](const auto* link) { return links_b.contains(link); });
  };
  std::vector<bool> in_passes(jobs_.size());
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    for (std::size_t peer = 0; peer < jobs_.size(); ++peer) {
      if (peer == i) continue;
      const bool is_shared = share_link(links[i].in_passes, links[peer].in_passes) ||
                             share_link(links[i].in_passes, links[peer].outside_passes);
      in_passes[i] = in_passes[i] || is_shared;
      share_links_ = share_links_ || is_shared ||
                     share_link(links[i].outside_passes, links[peer].outside_passes);
    }
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!in_passes[i]) continue;
    PlacedJob& job = *jobs_[i];
    const bool was_full = job.job.has_full_detail();
    set_joint_key(job.tree, "communication.detail", "full");
    jobs_[i] = std::make_unique<PlacedJob>(job.name, job.tree, job.hardware.cluster);
    jobs_[i]->in_passes = true;
    if (!was_full)
      notes_.push_back(
          fmt::format("{}: collectives inside its passes cross links that another job uses and "
                      "are simulated individually (communication.detail: full)",
                      jobs_[i]->name));
  }
}

void JointRun::set_iterations(std::size_t number, std::uint32_t iterations) {
  PlacedJob& job = *jobs_[number];
  if (job.plan.schedule.iterations == iterations) return;
  set_joint_key(job.tree, "iterations", std::to_string(iterations));
  const bool in_passes = job.in_passes;
  jobs_[number] = std::make_unique<PlacedJob>(job.name, job.tree, job.hardware.cluster);
  jobs_[number]->in_passes = in_passes;
}

execution::JointResult JointRun::run(std::span<const std::size_t> jobs,
                                     const std::vector<double>& offsets,
                                     const std::vector<trace::Sink*>& sinks,
                                     std::uint32_t iterations) const {
  std::vector<execution::JobStart> starts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PlacedJob& job = *jobs_[jobs[i]];
    starts.push_back({.job = job.job,
                      .offset = offsets[i],
                      .sink = *sinks[i],
                      .info = run_info(job.scenario, job.scenario.text, job.info)});
  }
  return execution::run_together(starts, iterations);
}

std::vector<trace::Trace> JointRun::traces(const std::vector<double>& offsets) const {
  std::vector<std::size_t> numbers(jobs_.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::deque<trace::TraceCollector> collectors(jobs_.size());
  std::vector<trace::Sink*> sinks;
  for (trace::TraceCollector& collector : collectors) sinks.push_back(&collector);
  const execution::JointResult result = run(numbers, offsets, sinks, min_iterations_);
  std::vector<trace::Trace> traces;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    traces.push_back(trace::first_iterations(
        std::move(collectors[i].trace), static_cast<std::uint32_t>(result.jobs[i].ends.size())));
  return traces;
}

}  // namespace pipewright::evaluation
