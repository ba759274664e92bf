#include "sim/evaluation/hardware.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/power_cap.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/evaluation/expected_error.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/evaluation/sizes.hpp"
#include "sim/execution/exposed_time.hpp"
#include "sim/workload/compute/assumed.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/plan/uneven_work.hpp"
#include "sim/workload/rank_copies.hpp"

namespace pipewright::evaluation {
namespace {

// Reads the GPU type that the platform file states for a host.
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
  const auto beside_host = [&](config::Gpu gpu) {
    if (scenario.variation.power_cap)
      gpu = config::with_power_cap(std::move(gpu), *scenario.variation.power_cap);
    if (host == nullptr) return gpu;
    gpu.launch_factor = host->launch_factor;
    gpu.host_memory_bandwidth = host->host_memory_bandwidth;
    if (host->host_core_bandwidth > 0) gpu.host_core_bandwidth = host->host_core_bandwidth;
    return gpu;
  };
  if (scenario.gpu) return beside_host(*scenario.gpu);
  const std::string name = host == nullptr ? "" : cluster::gpu_of(host);
  if (!name.empty()) return beside_host(library_gpu(scenario, host));
  const config::Origin& origin = scenario.model->origin;
  if (!scenario.cluster)
    throw config::Error(origin, "a model needs a GPU type")
        .suggest("give a cluster, or a gpu (--gpu a100-80gb)");
  throw config::Error(
      origin, fmt::format("a model needs a GPU type, but the cluster states none for host '{}'",
                          cluster::name_of(host)))
      .suggest(
          "add <prop id=\"gpu\" value=\"a100-80gb\"/> to it in the platform file, or a gpu to "
          "the scenario (--gpu a100-80gb)");
}

// Returns for each pipeline device the seconds that a microbatch takes: one forward and one
// backward pass of each of its stages.
std::vector<double> device_seconds(const config::Scenario& scenario,
                                   const schedules::Schedule& schedule,
                                   const workload::Gpus& gpus) {
  const workload::StageCosts costs = workload::shared_costs(scenario, schedule, gpus);
  std::vector<double> seconds(schedule.devices);
  for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward}) {
    const auto& seconds_by_stage = costs.times[kind];
    for (std::uint32_t stage = 0; stage < seconds_by_stage.size(); ++stage)
      seconds[schedule.routes.device(stage, 0)] += seconds_by_stage[stage];
  }
  return seconds;
}

// Properties that distinguish the GPUs of a job's hosts: their type, which a GPU of the scenario
// overrides, and the launch factor of the host. The scenario or the host owns the name.
using GpuKind = std::pair<std::string_view, double>;
GpuKind kind_of(const config::Scenario& scenario, const cluster::Host* host) {
  return {scenario.gpu ? scenario.gpu->name : cluster::gpu_of(host), host->launch_factor};
}

// Distinct hosts of a job. Jobs have many ranks and few kinds of hosts, and reading every host
// takes milliseconds on a large cluster.
struct HostKinds {
  std::vector<const cluster::Host*> examples;  // one host of each kind, in the order of the ranks
  std::vector<std::uint32_t> of_rank;          // index into `examples`
};

HostKinds kinds_of(const std::vector<cluster::Host*>& hosts) {
  HostKinds kinds;
  kinds.of_rank.reserve(hosts.size());
  std::uint32_t last = 0;
  for (const cluster::Host* host : hosts) {
    const auto is_like = [&](const cluster::Host* example) {
      return example->gpu == host->gpu && example->launch_factor == host->launch_factor &&
             example->memory == host->memory;
    };
    if (kinds.examples.empty() || !is_like(kinds.examples[last])) {
      const auto match = std::ranges::find_if(kinds.examples, is_like);
      last = static_cast<std::uint32_t>(match - kinds.examples.begin());
      if (match == kinds.examples.end()) kinds.examples.push_back(host);
    }
    kinds.of_rank.push_back(last);
  }
  return kinds;
}

// Sets the slowdown factors of device copies (one per replica) on other GPUs or hosts than those
// for which times were computed. The slowest GPU of a copy determines its factor.
void add_other_gpus(const config::Scenario& scenario, const Hardware& hardware,
                    const schedules::Schedule& schedule, std::vector<double>& factors) {
  const std::uint32_t devices = schedule.devices;
  const std::vector<double> planned = device_seconds(scenario, schedule, hardware.gpus);
  std::map<GpuKind, std::vector<double>> by_kind;
  for (std::uint32_t rank = 0; rank < hardware.ranks.size(); ++rank) {
    const workload::Coordinates coordinates = hardware.ranks.of(rank);
    const GpuKind kind = kind_of(scenario, hardware.hosts[rank]);
    const config::Gpu& planned_gpu = hardware.gpus[coordinates.pp];
    if (kind == GpuKind{planned_gpu.name, planned_gpu.launch_factor}) continue;
    auto& seconds = by_kind[kind];
    if (seconds.empty())
      seconds = device_seconds(scenario, schedule,
                               workload::Gpus(devices, gpu_of(scenario, hardware.hosts[rank])));
    double& factor = factors[std::size_t{coordinates.dp} * devices + coordinates.pp];
    const double ratio = seconds[coordinates.pp] / planned[coordinates.pp];
    factor = coordinates.tp == 0 && coordinates.cp == 0 ? ratio : std::max(factor, ratio);
  }
}

// Returns for each copy of a device the factor by which its passes take longer than computed, due
// to other GPU types and stragglers. Empty if all factors are 1.
std::vector<double> slowdown_factors(const config::Scenario& scenario, const Hardware& hardware,
                                     const schedules::Schedule& schedule) {
  const bool other_gpus = scenario.model && hardware.is_mixed;
  if (!other_gpus && scenario.variation.stragglers.empty()) return {};
  const std::uint32_t devices = schedule.devices;
  const std::uint32_t replicas = hardware.ranks.replicas();
  std::vector<double> factors(std::size_t{replicas} * devices, 1);
  if (other_gpus) add_other_gpus(scenario, hardware, schedule, factors);
  for (const config::Variation::Straggler& straggler : scenario.variation.stragglers) {
    const auto check = [&](std::uint32_t index, std::uint32_t count, const char* name) {
      if (index >= count)
        throw config::Error(straggler.origin, fmt::format("{} {} does not exist", name, index))
            .allow(fmt::format("0 to {}", count - 1));
    };
    check(straggler.device, devices, "device");
    check(straggler.replica.value_or(0), replicas, "replica");
    for (std::uint32_t replica = 0; replica < replicas; ++replica)
      if (!straggler.replica || *straggler.replica == replica)
        factors[std::size_t{replica} * devices + straggler.device] *= straggler.factor;
  }
  const bool is_uniform = std::ranges::all_of(factors, [](double factor) { return factor == 1; });
  return is_uniform ? std::vector<double>{} : factors;
}

// Returns whether a GPU type can be looked up. In jobs without a model, the platform file may use
// any name for it.
bool is_known_type(const std::string& type) {
  constexpr std::string_view extension = ".yaml";
  return (!type.empty() && !config::is_library_name(type, extension)) ||
         std::ranges::count(config::library_names("gpus", extension), type) > 0;
}

// Memory of a GPU in bytes: the free memory that CUDA reports for the type that the scenario sets
// for all GPUs; else for the host's type, or the number in the platform file if that is smaller; 0:
// unknown.
std::uint64_t gpu_memory(const config::Scenario& scenario, const cluster::Host* host) {
  if (scenario.gpu) return scenario.gpu->capacity();
  const std::uint64_t nominal = cluster::memory_of(host);
  const std::string& type = cluster::gpu_of(host);
  const std::uint64_t free = is_known_type(type) ? config::find_gpu(type).capacity() : 0;
  return nominal == 0 || free == 0 ? std::max(nominal, free) : std::min(nominal, free);
}

// Returns the memory of each device: a schedule runs on all copies of a device and must fit the
// smallest.
std::vector<execution::Capacity> capacities(const config::Scenario& scenario,
                                            const Hardware& hardware, const HostKinds& kinds) {
  std::vector<std::uint64_t> bytes_of_kind;
  for (const cluster::Host* host : kinds.examples)
    bytes_of_kind.push_back(gpu_memory(scenario, host));
  std::vector<execution::Capacity> smallest(hardware.ranks.devices());
  const auto add_gpu = [&](std::uint32_t device, std::uint32_t rank) {
    const std::uint64_t bytes = bytes_of_kind[kinds.of_rank[rank]];
    execution::Capacity& capacity = smallest[device];
    if (bytes > 0 && (capacity.bytes == 0 || bytes < capacity.bytes))
      capacity = {bytes, hardware.hosts[rank]};
  };
  // The hosts of replica 0, which outputs name, come first, so that they are named among equals.
  for (std::uint32_t device = 0; device < smallest.size(); ++device)
    add_gpu(device, hardware.ranks.rank_of({0, device}, 0));
  if (kinds.examples.size() == 1) return smallest;
  const std::vector<workload::ReplicaDevice> copies = workload::copies_by_rank(hardware.ranks);
  for (std::uint32_t rank = 0; rank < hardware.ranks.size(); ++rank)
    add_gpu(copies[rank].device, rank);
  return smallest;
}

// Checks that all GPU types support the precision and the stack's attention, and computes the mean
// peak FLOP/s over all ranks.
void compare_gpus(const config::Scenario& scenario, const HostKinds& kinds, Hardware& hardware) {
  struct Peaks {
    double bf16 = 0;
    double precision = 0;
  };
  std::vector<Peaks> by_kind;
  for (const cluster::Host* host : kinds.examples) {
    const config::Gpu gpu = gpu_of(scenario, host);
    config::check_precision(scenario.tree, scenario.training, gpu);
    if (scenario.training.flash_attention)
      config::attention_kernel_of(gpu, scenario.training.stack.attention);
    by_kind.push_back({gpu.flops, products_of(gpu, scenario.training.precision).flops});
  }
  const auto ranks = static_cast<double>(hardware.hosts.size());
  for (const std::uint32_t kind : kinds.of_rank) {
    hardware.peak_flops += by_kind[kind].bf16 / ranks;
    hardware.precision_peak_flops += by_kind[kind].precision / ranks;
  }
}

workload::Conditions conditions_of(const config::Scenario& scenario,
                                   const schedules::Routes& routes) {
  const config::Parallel& parallel = scenario.parallel;
  workload::Conditions conditions{
      .communication = scenario.communication,
      .variation = scenario.variation,
      .zero = parallel.zero,
      .reshards = parallel.reshards(),
      .by_layer = workload::reduced_by_layer(parallel, scenario.communication),
      .cuts_boundary = workload::cuts_boundary(parallel, scenario.communication),
      .sums_copies_once = parallel.gtp.has_value() || scenario.training.stack.sums_copies_once,
      .shards_copies = parallel.shards_optimizer_over_copies(),
      .shard_gradient_bytes = workload::shard_gradient_bytes(parallel),
      .backward_gathers = workload::backward_gathers(parallel, scenario.training)};
  if (!parallel.keeps_weights()) return conditions;
  // PyTorch pipelines that keep weights gathered behave like ZeRO-1, but reduce gradients after the
  // last pass, and may gather the stages of a device in turn.
  conditions.zero = 1;
  conditions.communication.overlap_grad_reduce = false;
  conditions.unshard_windows = workload::unshard_windows(parallel, routes);
  return conditions;
}

// Adds to the error about an unknown link a similar name, and an example of each class.
config::Error with_link_names(config::Error error, const std::string& name,
                              const cluster::Cluster& cluster) {
  std::vector<std::string> names;
  std::map<std::string, std::string> name_by_class;
  for (const cluster::Link* link : cluster.links()) {
    names.push_back(cluster::without_direction(cluster::Cluster::link_name(link)));
    name_by_class.try_emplace(cluster.link_class(link), names.back());
  }
  if (names.empty()) return error;
  std::vector<std::string> examples;
  for (const auto& [link_class, example] : name_by_class)
    examples.push_back(fmt::format("{} ({})", example, link_class));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return error.suggest_name(config::nearest_name(name, views))
      .allow(fmt::format("names such as {}", fmt::join(examples, ", ")));
}

workload::ModelSetting model_setting(const config::Scenario& scenario) {
  const config::Model& model = scenario.model->value;
  return {model, scenario.training,
          workload::sizes_of(model, scenario.training, scenario.parallel)};
}

// Returns whether the scenario gives times of passes or layers, so that no number of a GPU file
// determines them.
bool has_given_times(const config::Scenario& scenario) {
  return !scenario.forward_times.value.empty() || scenario.layer_times.has_value();
}

trace::ExpectedError error_on(const config::Scenario& scenario, const config::Gpu& gpu,
                              const workload::StageCosts& costs) {
  const RunKind kind = run_kind(scenario, gpu, costs);
  // Candidates of a search share an error if their shares are equal in whole percent.
  const double share =
      std::round(100 * workload::assumed_share(model_setting(scenario), gpu)) / 100;
  trace::ExpectedError error = known_error(kind, share);
  if (error.rows > 0 && !gpu.derived.empty())
    error.basis += fmt::format("; {}", config::name_with_sources(gpu));
  return error;
}

// Returns the widest of the expected errors on the types of GPU.
trace::ExpectedError error_of_run(const config::Scenario& scenario, const Hardware& hardware,
                                  const workload::StageCosts& costs) {
  trace::ExpectedError widest;
  if (!scenario.model || has_given_times(scenario)) return widest;
  std::vector<std::string_view> seen;
  for (const config::Gpu& gpu : hardware.gpus) {
    if (std::ranges::find(seen, gpu.name) != seen.end()) continue;
    seen.push_back(gpu.name);
    trace::ExpectedError error = error_on(scenario, gpu, costs);
    if (error.high - error.low > widest.high - widest.low) widest = std::move(error);
  }
  return widest;
}

}  // namespace

cluster::Cluster open_cluster(const config::Scenario& scenario) {
  const config::Variation& variation = scenario.variation;
  if (!scenario.cluster) return cluster::Cluster::ideal(scenario.p2p_time * variation.latency);
  // A cluster in the library is identified by its name, which is the same on every machine, instead
  // of its path.
  const std::filesystem::path& file = scenario.cluster->value;
  const bool is_in_library = config::is_of_library(file, "clusters");
  cluster::Cluster cluster =
      cluster::Cluster::load(file, is_in_library ? file.stem().string() : scenario.cluster_name,
                             scenario.communication.multipath);
  if (const auto nccl = scenario.communication.nccl) cluster.set_nccl(*nccl);
  for (const config::Variation::Bandwidth& change : variation.bandwidth)
    scale_bandwidth(change, cluster);
  cluster.scale_latency(variation.latency);
  for (const config::Variation::SlowLink& link : variation.links) scale_link(link, cluster);
  return cluster;
}

void scale_bandwidth(const config::Variation::Bandwidth& change, cluster::Cluster& cluster) {
  const std::vector<std::string> classes = cluster.link_classes();
  if (change.link_class == config::Variation::Bandwidth::all) {
    for (const std::string& link_class : classes)
      cluster.scale_bandwidth(link_class, change.factor);
    return;
  }
  if (std::ranges::find(classes, change.link_class) == classes.end())
    throw config::Error(change.origin, fmt::format("{}: has no links of class '{}'", cluster.name(),
                                                   change.link_class))
        .allow(fmt::format("{}, {}", fmt::join(classes, ", "), config::Variation::Bandwidth::all));
  cluster.scale_bandwidth(change.link_class, change.factor);
}

void scale_link(const config::Variation::SlowLink& link, cluster::Cluster& cluster) {
  try {
    cluster.scale_link(link.link, link.factor);
  } catch (const cluster::Error& error) {
    throw with_link_names(config::Error(error).relocated(link.origin), link.link, cluster);
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
  std::map<GpuKind, config::Gpu> by_kind;
  for (std::uint32_t device = 0; device < hardware.ranks.devices(); ++device) {
    const cluster::Host* const host = hardware.hosts[hardware.ranks.rank_of({0, device}, 0)];
    if (!scenario.model) continue;
    const bool ideal = hardware.cluster.is_ideal();
    const GpuKind kind = ideal ? GpuKind{"", 1} : kind_of(scenario, host);
    auto it = by_kind.find(kind);
    if (it == by_kind.end())
      it = by_kind.emplace(kind, gpu_of(scenario, ideal ? nullptr : host)).first;
    config::check_precision(scenario.tree, scenario.training, it->second);
    if (scenario.training.flash_attention)
      config::attention_kernel_of(it->second, scenario.training.stack.attention);
    hardware.gpus.push_back(it->second);
  }
  const HostKinds kinds = kinds_of(hardware.hosts);
  if (scenario.model && !scenario.gpu) compare_gpus(scenario, kinds, hardware);
  hardware.is_mixed = std::ranges::any_of(kinds.examples, [&](const cluster::Host* host) {
    return kind_of(scenario, host) != kind_of(scenario, hardware.hosts.front());
  });
  hardware.capacity = capacities(scenario, hardware, kinds);
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
          .conditions = conditions_of(scenario, schedule.routes),
          .symmetric = scenario.symmetric,
          .slowdown = slowdown_factors(scenario, hardware, schedule),
          .capacity = hardware.capacity,
          .uneven = workload::uneven_work(scenario, schedule, costs)};
}

trace::Evidence evidence_of(const config::Scenario& scenario, const Hardware& hardware) {
  if (!scenario.model) return {};
  const workload::ModelSetting setting = model_setting(scenario);
  trace::Evidence evidence;
  std::vector<std::string_view> seen;
  for (const config::Gpu& gpu : hardware.gpus) {
    if (std::ranges::find(seen, gpu.name) != seen.end()) continue;
    seen.push_back(gpu.name);
    std::vector<std::string> keys;
    if (!has_given_times(scenario)) keys = workload::assumed_for(setting, gpu);
    const std::vector<std::string> unsourced = config::unsourced_keys(gpu);
    if (gpu.free_memory && std::ranges::count(unsourced, analysis::free_memory_key) > 0)
      keys.emplace_back(analysis::free_memory_key);
    if (!keys.empty())
      evidence.gpu += (evidence.gpu.empty() ? "" : " and ") + config::name_with_sources(gpu);
    for (std::string& key : keys)
      if (std::ranges::find(evidence.keys, key) == evidence.keys.end())
        evidence.keys.push_back(std::move(key));
  }
  return evidence;
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
  job.evidence = evidence_of(scenario, hardware);
  job.evidence.expected_error = error_of_run(scenario, hardware, plan.costs);
  execution::add_exposed_time(hardware.cluster, job, plan.costs);
  return job;
}

}  // namespace pipewright::evaluation
