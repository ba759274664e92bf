#include "sim/evaluation/trial.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/report/summary.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::evaluation {
namespace {

// Rank whose GPU is at a given position among the job's GPUs in the order of the cluster; `part` is
// the position as a fraction of their number.
std::uint32_t rank_at(const Hardware& hardware, double part) {
  std::map<const cluster::Host*, std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < hardware.hosts.size(); ++rank)
    ranks.emplace(hardware.hosts[rank], rank);
  const auto count = static_cast<double>(ranks.size());
  auto remaining = static_cast<std::size_t>(std::min(part * count, count - 1));
  for (const cluster::Host* gpu : hardware.cluster.gpus())
    if (const auto it = ranks.find(gpu); it != ranks.end() && remaining-- == 0) return it->second;
  return 0;  // on an ideal network all ranks share one host
}

// Slows down the device copy of the drawn GPU, because all GPUs of a device run in lockstep. If one
// replica stands for all, it gets the slow GPU, because all replicas wait for it.
void slow_down(const analysis::Draw& draw, const config::Scenario& scenario,
               const Hardware& hardware, execution::Job& job) {
  if (draw.slow_factor == 1) return;
  const std::uint32_t devices = job.schedule.devices;
  if (job.slowdown.empty())
    job.slowdown.assign(std::size_t{hardware.ranks.replicas()} * devices, 1);
  const workload::Coordinates coordinates = hardware.ranks.of(rank_at(hardware, draw.slow_gpu));
  const std::uint32_t replica = scenario.symmetric ? 0 : coordinates.dp;
  job.slowdown[std::size_t{replica} * devices + coordinates.pp] *= draw.slow_factor;
}

}  // namespace

std::vector<LinkClass> link_classes(const Hardware& hardware) {
  std::map<std::string, double> slowest;
  for (const cluster::Host* host : hardware.hosts) {
    try {
      for (const cluster::Link* link : hardware.cluster.route(hardware.hosts.front(), host).links) {
        const double bandwidth = hardware.cluster.bandwidth_of(link);
        const auto [it, is_new] = slowest.try_emplace(hardware.cluster.link_class(link), bandwidth);
        it->second = std::min(it->second, bandwidth);
      }
    } catch (const cluster::Error&) {
      // Skip hosts without a working route: the run may not need one.
    }
  }
  std::vector<LinkClass> classes;
  for (const auto& [name, bandwidth] : slowest) classes.push_back({name, bandwidth});
  return classes;
}

double seconds_under(const config::Value& tree, const analysis::Draw& draw) {
  config::Scenario scenario = config::read_scenario(tree);
  if (draw.jitter > 0) {
    scenario.variation.jitter = draw.jitter;
    scenario.variation.seed = draw.seed;
  }
  cluster::Cluster cluster = open_cluster(scenario);
  for (const auto& [name, factor] : draw.bandwidth) {
    const std::vector<std::string> classes = cluster.link_classes();
    if (factor != 1 && std::ranges::count(classes, name) > 0) cluster.scale_bandwidth(name, factor);
  }
  if (draw.latency != 1) cluster.scale_latency(draw.latency);
  Hardware hardware = place_on(std::move(cluster), scenario);
  workload::Plan plan = plan_on(scenario, scenario.schedules.front(), hardware);
  execution::Job job = make_job(scenario, hardware, plan);
  slow_down(draw, scenario, hardware, job);
  analysis::SummarySink summary;
  execution::run(job, engine_of(scenario), {}, summary);
  return summary.summary().makespan_s / plan.schedule.iterations;
}

}  // namespace pipewright::evaluation
