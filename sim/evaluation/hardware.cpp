#include "sim/evaluation/hardware.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "sim/config/gpu.hpp"
#include "sim/config/library.hpp"
#include "sim/execution/pass_waits.hpp"
#include "sim/workload/model/layout_checks.hpp"

namespace pipewright::evaluation {
namespace {

schedules::P2p p2p_mode(config::P2p mode) {
  switch (mode) {
    case config::P2p::eager:
      return schedules::P2p::eager;
    case config::P2p::rendezvous:
      return schedules::P2p::rendezvous;
    case config::P2p::blocking:
      break;
  }
  return schedules::P2p::blocking;
}

cluster::Cluster open_cluster(const config::Scenario& scenario) {
  if (!scenario.cluster) return cluster::Cluster::ideal(scenario.p2p_time);
  // One of the library goes by its name, which is the same on every machine.
  const std::filesystem::path& file = scenario.cluster->value;
  const bool listed = file.parent_path() == config::library_folder() / "clusters";
  cluster::Cluster cluster =
      cluster::Cluster::load(file, listed ? file.stem().string() : std::string());
  for (const config::Variation::SlowLink& link : scenario.variation.links) {
    try {
      cluster.scale_link(link.link, link.factor);
    } catch (const cluster::Error& error) {
      throw config::Error(config::locate(link.origin, error.what()));
    }
  }
  return cluster;
}

std::vector<cluster::Host*> place(const config::Scenario& scenario, const cluster::Cluster& cluster,
                                  std::uint32_t ranks) {
  std::vector<std::string> names;
  for (const auto& host : scenario.placement) names.push_back(host.value);
  try {
    return cluster.place(names, ranks);
  } catch (const cluster::Error& error) {
    if (scenario.placement.empty()) throw;
    throw config::Error(config::locate(scenario.placement.front().origin, error.what()));
  }
}

config::Gpu gpu_of(const config::Scenario& scenario, const cluster::Host* host) {
  if (scenario.gpu) return *scenario.gpu;
  const std::string name = host == nullptr ? "" : cluster::gpu_of(host);
  if (!name.empty()) return config::find_gpu(name);
  throw config::Error(config::locate(
      scenario.model->origin,
      scenario.cluster
          ? fmt::format("a model needs to know its GPUs, and host '{}' of the cluster does not say "
                        "what it is; give it <prop id=\"gpu\" value=\"a100-80gb\"/> in the "
                        "platform file, or the scenario a gpu (--gpu a100-80gb)",
                        cluster::name_of(host))
          : std::string("a model needs to know its GPUs; give a cluster, or a gpu (--gpu "
                        "a100-80gb)")));
}

// Of one device's passes, all kinds and stages together, in seconds.
std::vector<double> device_seconds(const workload::Plan& plan) {
  std::vector<double> seconds(plan.schedule.devices);
  for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward}) {
    const auto& of_stage = plan.costs.times.of_stage[static_cast<std::size_t>(kind)];
    for (std::uint32_t stage = 0; stage < of_stage.size(); ++stage)
      seconds[plan.schedule.routes.device(stage, 0)] += of_stage[stage];
  }
  return seconds;
}

// How much longer passes take on each copy of a device than on the GPU that the plan is for: other
// GPUs, the slowest of which sets the pace, and stragglers. Empty where nothing differs.
std::vector<double> slowdown(const config::Scenario& scenario, const Hardware& hardware,
                             const workload::Plan& plan) {
  const std::uint32_t devices = plan.schedule.devices;
  const workload::Ranks& ranks = hardware.ranks;
  std::vector<double> factors(std::size_t{ranks.replicas()} * devices, 1);
  if (scenario.model && !scenario.gpu) {
    const std::vector<double> planned = device_seconds(plan);
    std::map<std::string, std::vector<double>> by_type;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      const workload::Coordinates at = ranks.of(rank);
      const std::string type = cluster::gpu_of(hardware.hosts[rank]);
      if (type == hardware.gpus[at.pp].name) continue;
      auto& seconds = by_type[type];
      if (seconds.empty())
        seconds = device_seconds(
            workload::make_plan(scenario, plan.schedule,
                                workload::Gpus(devices, gpu_of(scenario, hardware.hosts[rank]))));
      double& factor = factors[std::size_t{at.dp} * devices + at.pp];
      const double here = seconds[at.pp] / planned[at.pp];
      factor = at.tp == 0 && at.cp == 0 ? here : std::max(factor, here);
    }
  }
  for (const config::Variation::Straggler& one : scenario.variation.stragglers) {
    const auto check = [&](std::uint32_t index, std::uint32_t count, const char* what) {
      if (index >= count)
        throw config::Error(config::locate(
            one.origin,
            fmt::format("{} {} does not exist; allowed: 0 to {}", what, index, count - 1)));
    };
    check(one.device, devices, "device");
    check(one.replica.value_or(0), ranks.replicas(), "replica");
    for (std::uint32_t replica = 0; replica < ranks.replicas(); ++replica)
      if (!one.replica || *one.replica == replica)
        factors[std::size_t{replica} * devices + one.device] *= one.factor;
  }
  const bool equal = std::ranges::all_of(factors, [](double factor) { return factor == 1; });
  return equal ? std::vector<double>{} : factors;
}

// Of all GPUs, in FLOP/s.
double mean_peak(const Hardware& hardware) {
  std::map<std::string, double> by_type;
  double sum = 0;
  for (const cluster::Host* host : hardware.hosts) {
    const auto [place, is_new] = by_type.try_emplace(cluster::gpu_of(host));
    if (is_new) place->second = config::find_gpu(place->first).flops;
    sum += place->second;
  }
  return sum / static_cast<double>(hardware.hosts.size());
}

}  // namespace

Hardware open_hardware(const config::Scenario& scenario) {
  if (scenario.model)
    workload::check_layout(scenario.model->value, scenario.training, scenario.parallel);
  Hardware hardware{.cluster = open_cluster(scenario), .ranks = workload::Ranks(scenario.parallel)};
  hardware.hosts = place(scenario, hardware.cluster, hardware.ranks.size());
  if (!scenario.model) return hardware;
  for (std::uint32_t device = 0; device < hardware.ranks.devices(); ++device)
    hardware.gpus.push_back(
        gpu_of(scenario, hardware.cluster.is_ideal()
                             ? nullptr
                             : hardware.hosts[hardware.ranks.rank_of(device, 0, 0)]));
  return hardware;
}

execution::Job make_job(const config::Scenario& scenario, Hardware& hardware,
                        workload::Plan& plan) {
  execution::Job job{.schedule = plan.schedule,
                     .costs = plan.costs,
                     .cluster = hardware.cluster,
                     .hosts = hardware.hosts,
                     .p2p = p2p_mode(scenario.p2p),
                     .ranks = hardware.ranks,
                     .conditions = {.communication = scenario.communication,
                                    .variation = scenario.variation,
                                    .zero = scenario.parallel.zero},
                     .symmetric = scenario.symmetric,
                     .slowdown = slowdown(scenario, hardware, plan)};
  execution::add_pass_waits(hardware.cluster, job, plan.costs);
  if (scenario.model && !scenario.gpu) plan.costs.peak_flops = mean_peak(hardware);
  return job;
}

}  // namespace pipewright::evaluation
