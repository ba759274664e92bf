#include "sim/evaluation/hardware.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/assumed.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/evaluation/sizes.hpp"
#include "sim/execution/exposed_time.hpp"
#include "sim/workload/compute/assumed.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/plan/uneven_work.hpp"

namespace pipewright::evaluation {
namespace {

// Of the type that the platform file gives a host.
config::Gpu library_gpu(const config::Scenario& scenario, const cluster::Host* host) {
  try {
    return config::find_gpu(cluster::gpu_of(host));
  } catch (const config::Error& error) {
    const std::string cluster =
        scenario.cluster_name.empty() ? scenario.cluster->value.string() : scenario.cluster_name;
    throw error.within({.source = cluster},
                       fmt::format("host '{}' has the property gpu", cluster::name_of(host)));
  }
}

config::Gpu gpu_of(const config::Scenario& scenario, const cluster::Host* host) {
  if (scenario.gpu) return *scenario.gpu;
  const std::string name = host == nullptr ? "" : cluster::gpu_of(host);
  if (!name.empty()) return library_gpu(scenario, host);
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
std::vector<double> device_seconds(const config::Scenario& scenario,
                                   const schedules::Schedule& schedule,
                                   const workload::Gpus& gpus) {
  const workload::StageCosts costs = workload::shared_costs(scenario, schedule, gpus);
  std::vector<double> seconds(schedule.devices);
  for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward}) {
    const auto& of_stage = costs.times[kind];
    for (std::uint32_t stage = 0; stage < of_stage.size(); ++stage)
      seconds[schedule.routes.device(stage, 0)] += of_stage[stage];
  }
  return seconds;
}

// Other GPUs than those that the plan is for, the slowest of which sets the pace.
void slow_other_gpus(const config::Scenario& scenario, const Hardware& hardware,
                     const schedules::Schedule& schedule, std::vector<double>& factors) {
  const std::uint32_t devices = schedule.devices;
  const std::vector<double> planned = device_seconds(scenario, schedule, hardware.gpus);
  std::map<std::string, std::vector<double>> by_type;
  for (std::uint32_t rank = 0; rank < hardware.ranks.size(); ++rank) {
    const workload::Coordinates at = hardware.ranks.of(rank);
    const std::string type = cluster::gpu_of(hardware.hosts[rank]);
    if (type == hardware.gpus[at.pp].name) continue;
    auto& seconds = by_type[type];
    if (seconds.empty())
      seconds = device_seconds(scenario, schedule,
                               workload::Gpus(devices, gpu_of(scenario, hardware.hosts[rank])));
    double& factor = factors[std::size_t{at.dp} * devices + at.pp];
    const double here = seconds[at.pp] / planned[at.pp];
    factor = at.tp == 0 && at.cp == 0 ? here : std::max(factor, here);
  }
}

// How much longer passes take on each copy of a device than on the GPU that the plan is for: other
// GPUs, and stragglers. Empty where nothing differs.
std::vector<double> slowdown(const config::Scenario& scenario, const Hardware& hardware,
                             const schedules::Schedule& schedule) {
  const bool other_gpus = scenario.model && !scenario.gpu && hardware.is_mixed;
  if (!other_gpus && scenario.variation.stragglers.empty()) return {};
  const std::uint32_t devices = schedule.devices;
  const std::uint32_t replicas = hardware.ranks.replicas();
  std::vector<double> factors(std::size_t{replicas} * devices, 1);
  if (other_gpus) slow_other_gpus(scenario, hardware, schedule, factors);
  for (const config::Variation::Straggler& one : scenario.variation.stragglers) {
    const auto check = [&](std::uint32_t index, std::uint32_t count, const char* what) {
      if (index >= count)
        throw config::Error(config::locate(
            one.origin,
            fmt::format("{} {} does not exist; allowed: 0 to {}", what, index, count - 1)));
    };
    check(one.device, devices, "device");
    check(one.replica.value_or(0), replicas, "replica");
    for (std::uint32_t replica = 0; replica < replicas; ++replica)
      if (!one.replica || *one.replica == replica)
        factors[std::size_t{replica} * devices + one.device] *= one.factor;
  }
  const bool equal = std::ranges::all_of(factors, [](double factor) { return factor == 1; });
  return equal ? std::vector<double>{} : factors;
}

// What one GPU has: what CUDA reports free on the type that the scenario says all are; else on the
// host's type, or what the platform file says of the host if that is less; 0: unknown.
class GpuMemory {
 public:
  explicit GpuMemory(const config::Scenario& scenario) : scenario_(scenario) {}

  std::uint64_t of(const cluster::Host* host) {
    if (scenario_.gpu) return scenario_.gpu->capacity();
    const std::uint64_t nominal = cluster::memory_of(host);
    const auto [place, is_new] = by_type_.try_emplace(cluster::gpu_of(host));
    if (is_new && is_known(place->first)) place->second = config::find_gpu(place->first).capacity();
    const std::uint64_t free = place->second;
    return nominal == 0 || free == 0 ? std::max(nominal, free) : std::min(nominal, free);
  }

 private:
  // Without a model, types may be of any name.
  static bool is_known(const std::string& type) {
    constexpr std::string_view extension = ".yaml";
    return (!type.empty() && !config::is_library_name(type, extension)) ||
           std::ranges::count(config::library_names("gpus", extension), type) > 0;
  }

  const config::Scenario& scenario_;
  std::map<std::string, std::uint64_t> by_type_;
};

// A schedule runs on all copies of a device, and has to fit the smallest.
std::vector<execution::Capacity> capacities(const config::Scenario& scenario,
                                            const Hardware& hardware) {
  GpuMemory memory(scenario);
  std::vector<execution::Capacity> least(hardware.ranks.devices());
  const auto see = [&](std::uint32_t device, const cluster::Host* host) {
    const std::uint64_t bytes = memory.of(host);
    execution::Capacity& place = least[device];
    if (bytes > 0 && (place.bytes == 0 || bytes < place.bytes)) place = {bytes, host};
  };
  // The hosts that outputs name go first.
  for (std::uint32_t device = 0; device < least.size(); ++device)
    see(device, hardware.hosts[hardware.ranks.rank_of({0, device}, 0)]);
  for (std::uint32_t rank = 0; rank < hardware.ranks.size(); ++rank)
    see(hardware.ranks.of(rank).pp, hardware.hosts[rank]);
  return least;
}

// Looks at all ranks' GPUs, of which there are few types.
void compare_gpus(const config::Scenario& scenario, Hardware& hardware) {
  struct Peaks {
    double bf16 = 0;
    double precision = 0;
  };
  std::map<std::string, Peaks> by_type;
  const auto ranks = static_cast<double>(hardware.hosts.size());
  for (const cluster::Host* host : hardware.hosts) {
    const auto [place, is_new] = by_type.try_emplace(cluster::gpu_of(host));
    if (is_new) {
      const config::Gpu gpu = library_gpu(scenario, host);
      config::check_precision(scenario.tree, scenario.training, gpu);
      place->second = {gpu.flops, products_of(gpu, scenario.training.precision).flops};
    }
    hardware.peak_flops += place->second.bf16 / ranks;
    hardware.precision_peak_flops += place->second.precision / ranks;
  }
  hardware.is_mixed = by_type.size() > 1;
}

workload::Conditions conditions_of(const config::Scenario& scenario) {
  const config::Parallel& parallel = scenario.parallel;
  workload::Conditions conditions{
      .communication = scenario.communication,
      .variation = scenario.variation,
      .zero = parallel.zero,
      .reshards = parallel.reshards(),
      .by_layer = workload::reduced_by_layer(parallel, scenario.communication),
      .cuts_boundary = workload::cuts_boundary(parallel, scenario.communication)};
  if (!parallel.keeps_weights()) return conditions;
  // What is said is as under ZeRO-1, but that PyTorch's pipelines reduce after the last pass.
  conditions.zero = 1;
  conditions.communication.overlap_grad_reduce = false;
  return conditions;
}

// "; did you mean 'node-0-nic-0'? there are such as ...", one of each class.
std::string nearest_links(const std::string& wanted, const cluster::Cluster& cluster) {
  std::vector<std::string> names;
  std::map<std::string, std::string> of_class;
  for (const cluster::Link* link : cluster.links()) {
    names.push_back(cluster::without_direction(cluster::Cluster::link_name(link)));
    of_class.try_emplace(cluster.link_class(link), names.back());
  }
  if (names.empty()) return "";
  std::vector<std::string> examples;
  for (const auto& [link_class, name] : of_class)
    examples.push_back(fmt::format("{} ({})", name, link_class));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fmt::format("{}there are such as {}", config::did_you_mean(wanted, views),
                     fmt::join(examples, ", "));
}

}  // namespace

cluster::Cluster open_cluster(const config::Scenario& scenario) {
  const config::Variation& variation = scenario.variation;
  if (!scenario.cluster) return cluster::Cluster::ideal(scenario.p2p_time * variation.latency);
  // One of the library goes by its name, which is the same on every machine.
  const std::filesystem::path& file = scenario.cluster->value;
  const bool listed = config::is_of_library(file, "clusters");
  cluster::Cluster cluster =
      cluster::Cluster::load(file, listed ? file.stem().string() : scenario.cluster_name,
                             scenario.communication.multipath);
  if (const auto nccl = scenario.communication.nccl) cluster.set_nccl(*nccl);
  for (const config::Variation::Bandwidth& change : variation.bandwidth) scale(change, cluster);
  cluster.scale_latency(variation.latency);
  for (const config::Variation::SlowLink& link : variation.links) slow(link, cluster);
  return cluster;
}

void scale(const config::Variation::Bandwidth& change, cluster::Cluster& cluster) {
  const std::vector<std::string> known = cluster.link_classes();
  if (change.link_class == config::Variation::Bandwidth::all) {
    for (const std::string& one : known) cluster.scale_bandwidth(one, change.factor);
    return;
  }
  if (std::ranges::find(known, change.link_class) == known.end())
    throw config::Error(config::locate(
        change.origin,
        fmt::format("{}: has no links of class '{}'; allowed: {}, {}", cluster.name(),
                    change.link_class, fmt::join(known, ", "), config::Variation::Bandwidth::all)));
  cluster.scale_bandwidth(change.link_class, change.factor);
}

void slow(const config::Variation::SlowLink& link, cluster::Cluster& cluster) {
  try {
    cluster.scale_link(link.link, link.factor);
  } catch (const cluster::Error& error) {
    throw config::Error(config::locate(
        link.origin, fmt::format("{}{}", error.what(), nearest_links(link.link, cluster))));
  }
}

Hardware open_hardware(const config::Scenario& scenario) {
  cluster::Cluster cluster = open_cluster(scenario);
  check_layout(scenario, cluster);
  return place_on(std::move(cluster), scenario);
}

Hardware place_on(cluster::Cluster cluster, const config::Scenario& scenario) {
  Hardware hardware{.cluster = std::move(cluster), .ranks = workload::Ranks(scenario.parallel)};
  hardware.hosts = place(scenario, hardware.cluster, hardware.ranks);
  std::map<std::string, config::Gpu> by_type;
  for (std::uint32_t device = 0; device < hardware.ranks.devices(); ++device) {
    const cluster::Host* const host = hardware.hosts[hardware.ranks.rank_of({0, device}, 0)];
    if (!scenario.model) continue;
    const bool ideal = hardware.cluster.is_ideal();
    const std::string type = ideal ? "" : cluster::gpu_of(host);
    auto known = by_type.find(type);
    if (known == by_type.end())
      known = by_type.emplace(type, gpu_of(scenario, ideal ? nullptr : host)).first;
    config::check_precision(scenario.tree, scenario.training, known->second);
    hardware.gpus.push_back(known->second);
  }
  if (scenario.model && !scenario.gpu) compare_gpus(scenario, hardware);
  hardware.capacity = capacities(scenario, hardware);
  return hardware;
}

std::vector<std::uint64_t> memory_of(const Hardware& hardware) {
  std::vector<std::uint64_t> bytes;
  for (const execution::Capacity& device : hardware.capacity) bytes.push_back(device.bytes);
  return bytes;
}

execution::EngineKind engine_of(const config::Scenario& scenario) {
  return scenario.engine == config::Engine::simgrid ? execution::EngineKind::simgrid
                                                    : execution::EngineKind::timing;
}

execution::Job plain_job(const config::Scenario& scenario, const Hardware& hardware,
                         const schedules::Schedule& schedule, const workload::StageCosts& costs) {
  return {.schedule = schedule,
          .costs = costs,
          .cluster = hardware.cluster,
          .hosts = hardware.hosts,
          .p2p = scenario.p2p,
          .ranks = hardware.ranks,
          .conditions = conditions_of(scenario),
          .symmetric = scenario.symmetric,
          .slowdown = slowdown(scenario, hardware, schedule),
          .capacity = hardware.capacity,
          .uneven = workload::uneven_work(scenario, schedule, costs)};
}

trace::Assumed assumed_for(const config::Scenario& scenario, const Hardware& hardware) {
  if (!scenario.model) return {};
  const config::Model& model = scenario.model->value;
  const workload::ModelSetting setting{
      model, scenario.training, workload::sizes_of(model, scenario.training, scenario.parallel)};
  // Given times rest on nothing of the GPU.
  const bool is_timed = !scenario.forward_times.value.empty() || scenario.layer_times;
  trace::Assumed all;
  std::vector<std::string_view> seen;
  for (const config::Gpu& gpu : hardware.gpus) {
    if (std::ranges::find(seen, gpu.name) != seen.end()) continue;
    seen.push_back(gpu.name);
    std::vector<std::string> keys;
    if (!is_timed) keys = workload::assumed_for(setting, gpu);
    if (gpu.free_memory && std::ranges::count(gpu.assumed, analysis::free_memory_key) > 0)
      keys.emplace_back(analysis::free_memory_key);
    if (!keys.empty()) all.gpu += (all.gpu.empty() ? "" : " and ") + gpu.name;
    for (std::string& key : keys)
      if (std::ranges::find(all.keys, key) == all.keys.end()) all.keys.push_back(std::move(key));
  }
  return all;
}

void set_peaks(const Hardware& hardware, workload::StageCosts& costs) {
  if (hardware.peak_flops <= 0) return;
  costs.peak_flops = hardware.peak_flops;
  costs.precision_peak_flops = hardware.precision_peak_flops;
}

execution::Job make_job(const config::Scenario& scenario, Hardware& hardware,
                        workload::Plan& plan) {
  set_peaks(hardware, plan.costs);
  execution::Job job = plain_job(scenario, hardware, plan.schedule, plan.costs);
  job.assumed = assumed_for(scenario, hardware);
  execution::add_exposed_time(hardware.cluster, job, plan.costs);
  return job;
}

}  // namespace pipewright::evaluation
