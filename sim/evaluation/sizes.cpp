#include "sim/evaluation/sizes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/workload/plan/schedule_costs.hpp"
#include "sim/workload/ranks.hpp"
#include "sim/workload/schedule_source.hpp"
#include "sim/workload/shape/layout_checks.hpp"
#include "sim/workload/shape/partition.hpp"

namespace pipewright::evaluation {
namespace {

using config::Axis;
using config::Parallel;
using config::ScheduleSpec;

// Scenario and cluster whose rules a layout must satisfy.
struct LayoutContext {
  const config::Scenario& scenario;
  std::uint64_t gpus = 0;  // usable GPUs of the cluster; 0: any number
};

LayoutContext layout_context(const config::Scenario& scenario, const cluster::Cluster& cluster) {
  return {scenario, cluster.is_ideal() ? 0 : usable_gpus(scenario.placement, cluster)};
}

bool gpus_suffice(const LayoutContext& context, const Parallel& parallel) {
  const double gpus = parallel.gpus();
  const std::size_t placed = context.scenario.placement.hosts.size();
  if (placed > 0 && gpus != static_cast<double>(placed)) return false;
  return context.gpus == 0 || gpus <= static_cast<double>(context.gpus);
}

// Microbatches per replica. Empty if the global batch is not divisible.
std::optional<std::uint32_t> microbatches_per_replica(const config::Scenario& scenario,
                                                      const Parallel& parallel) {
  if (!scenario.global_batch) return scenario.microbatches.value;
  const std::uint64_t step = std::uint64_t{parallel.dp.value} * scenario.training.microbatch_size;
  if (scenario.global_batch->value % step != 0) return std::nullopt;
  return static_cast<std::uint32_t>(scenario.global_batch->value / step);
}

// A small number of microbatches that a schedule accepts or rejects like the given one: all that
// matters is divisibility by the devices and by a group.
std::uint32_t reduced_microbatches(std::uint64_t microbatches, std::uint64_t devices,
                                   std::uint64_t group) {
  const std::uint64_t step = 2 * std::lcm(devices, group);
  return static_cast<std::uint32_t>(microbatches < 2 * step ? microbatches
                                                            : microbatches % step + step);
}

// Number of stages of a schedule; empty if no such schedule exists.
std::optional<std::uint32_t> stages_of(const ScheduleSpec& spec, std::uint32_t devices,
                                       std::uint32_t microbatches) {
  schedules::Parameters parameters{.devices = devices};
  spec.put_choices(parameters);
  const bool is_file = config::is_file(config::schedule_source(spec.name));
  parameters.microbatches =
      is_file ? microbatches
              : reduced_microbatches(microbatches, devices, parameters.group_size.value_or(1));
  try {
    return workload::load_schedule(spec.name, parameters).stages();
  } catch (const schedules::Error&) {
    return std::nullopt;
  } catch (const config::Error&) {
    return std::nullopt;
  }
}

bool is_searched(const ScheduleSpec& spec) {
  return config::schedule_source(spec.name) == config::ScheduleSource::search;
}

bool stages_fit(const config::Scenario& scenario, const ScheduleSpec& spec, std::uint32_t devices,
                std::uint32_t microbatches) {
  if (is_searched(spec)) return true;
  const auto stages = stages_of(spec, devices, microbatches);
  return stages &&
         (!scenario.model ||
          workload::can_deal_out(scenario.partition, scenario.model->value, devices, *stages));
}

bool ranks_fit(const Parallel& parallel) {
  try {
    const workload::Ranks ranks(parallel);
    return true;
  } catch (const config::Error&) {
    return false;
  }
}

// True if a layout's sizes divide the model's dimensions, the batch and the layers, and its GPUs
// suffice.
bool fits(const LayoutContext& context, const Parallel& parallel) {
  const config::Scenario& scenario = context.scenario;
  if (!gpus_suffice(context, parallel) || !ranks_fit(parallel)) return false;
  if (scenario.model && !workload::layout_fits(scenario.model->value, scenario.training, parallel))
    return false;
  const auto count = microbatches_per_replica(scenario, parallel);
  return count && std::ranges::all_of(scenario.schedules, [&](const ScheduleSpec& spec) {
           return stages_fit(scenario, spec, parallel.pp.value, *count);
         });
}

// The two largest sizes of an axis below `size` that fit, in ascending order.
std::vector<std::uint32_t> smaller_sizes(const LayoutContext& context, Axis axis,
                                         std::uint32_t size) {
  constexpr std::size_t max_sizes = 2;
  const double gpus_per_size = context.scenario.parallel.gpus() / size;
  const double max_size = static_cast<double>(context.gpus) / gpus_per_size;
  if (max_size + 1 < size) size = static_cast<std::uint32_t>(max_size) + 1;
  std::vector<std::uint32_t> sizes;
  while (--size > 0 && sizes.size() < max_sizes)
    if (fits(context, workload::with_size(context.scenario.parallel, axis, size)))
      sizes.insert(sizes.begin(), size);
  return sizes;
}

void check_gpus(const LayoutContext& context, const std::string& cluster) {
  const Parallel& parallel = context.scenario.parallel;
  const config::Placement& placement = context.scenario.placement;
  // Placements that name hosts, GPU types or a domain limit are checked when they are resolved.
  if (context.gpus == 0 || !placement.hosts.empty() || placement.domain ||
      !placement.gpu_types.empty() || parallel.gpus() <= static_cast<double>(context.gpus))
    return;
  const bool is_uneven = !parallel.tp_by_device.empty();
  const std::string problem =
      is_uneven ? fmt::format(
                      "({}) x cp {} x dp {} = {:.0f} GPUs, but {} has {}",
                      fmt::join(parallel.tp_by_device |
                                    std::views::transform(&config::Located<std::uint32_t>::value),
                                " + "),
                      parallel.cp.value, parallel.dp.value, parallel.gpus(), cluster, context.gpus)
                : fmt::format("tp {} x cp {} x pp {} x dp {} = {:.0f} GPUs, but {} has {}",
                              parallel.tp.value, parallel.cp.value, parallel.pp.value,
                              parallel.dp.value, parallel.gpus(), cluster, context.gpus);
  struct Size {
    Axis axis;
    const char* name;
    const config::Located<std::uint32_t>& size;
  };
  for (const auto& [axis, name, size] :
       {Size{Axis::dp, "dp", parallel.dp}, Size{Axis::pp, "pp", parallel.pp},
        Size{Axis::cp, "cp", parallel.cp}, Size{Axis::tp, "tp", parallel.tp}})
    if (is_uneven && (axis == Axis::tp || axis == Axis::pp))
      continue;
    else if (const auto offers = smaller_sizes(context, axis, size.value); !offers.empty())
      throw config::Error(size.origin, problem)
          .allow(fmt::format("{} {}", name, fmt::join(offers, " or ")));
  throw config::Error(context.scenario.cluster->origin, problem)
      .allow(fmt::format("a layout of at most {} GPUs, or a larger cluster", context.gpus));
}

std::string or_list(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", or "));
}

// Text for errors: "16 devices x 8 chunks are 128 stages"
std::string stages_text(std::uint32_t devices, std::uint32_t stages) {
  const auto count_text = [](std::uint32_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  if (stages == devices || stages % devices != 0) return count_text(stages, "stage");
  return fmt::format("{} ({} x {})", count_text(stages, "stage"), count_text(devices, "device"),
                     count_text(stages / devices, "chunk"));
}

}  // namespace

void check_layout(const config::Scenario& scenario, const cluster::Cluster& cluster) {
  const LayoutContext context = layout_context(scenario, cluster);
  if (scenario.model) {
    workload::check_parameters(scenario.model->value);
    workload::check_layout(scenario.model->value, scenario.training, scenario.parallel,
                           [&](const Parallel& parallel) { return fits(context, parallel); });
  }
  check_gpus(context, cluster.name());
}

void check_stages(const config::Scenario& scenario, const ScheduleSpec& spec,
                  const cluster::Cluster& cluster) {
  const auto entry = std::ranges::find(schedules::catalog(), spec.name, &schedules::Entry::name);
  if (entry != schedules::catalog().end())
    workload::check_whole_layers(scenario, spec.name, entry->placement({.devices = 1}));
  const config::Partition& partition = scenario.partition;
  using Rule = config::Partition::Rule;
  if (!scenario.model || is_searched(spec) || partition.rule == Rule::listed ||
      partition.rule == Rule::layout)
    return;
  const config::Model& model = scenario.model->value;
  const std::uint32_t devices = scenario.devices.value;
  const std::uint32_t count = scenario.microbatches.value;
  const auto stages = stages_of(spec, devices, count);
  if (!stages || workload::can_deal_out(partition, model, devices, *stages)) return;

  const auto can_deal_out = [&](std::uint32_t device_count, std::uint64_t stage_count) {
    return stage_count <= model.layers + std::uint64_t{2} &&
           workload::can_deal_out(partition, model, device_count,
                                  static_cast<std::uint32_t>(stage_count));
  };
  std::vector<std::string> offers;
  const auto& chunks_option = spec[&schedules::Parameters::chunks];
  if (chunks_option) {
    const auto chunks =
        workload::nearest(chunks_option->value, (model.layers + 2) / devices, [&](std::uint32_t n) {
          ScheduleSpec changed_spec = spec;
          changed_spec[&schedules::Parameters::chunks]->value = n;
          return can_deal_out(devices, std::uint64_t{n} * devices) &&
                 stages_fit(scenario, changed_spec, devices, count);
        });
    if (!chunks.empty()) offers.push_back(fmt::format("chunks {}", fmt::join(chunks, " or ")));
  }
  const LayoutContext context = layout_context(scenario, cluster);
  const auto pp = workload::nearest(devices, model.layers + 2, [&](std::uint32_t n) {
    return can_deal_out(n, std::uint64_t{n} * *stages / devices) &&
           fits(context, workload::with_size(scenario.parallel, Axis::pp, n));
  });
  if (!pp.empty()) offers.push_back(fmt::format("pp {}", fmt::join(pp, " or ")));
  const auto partitions = workload::other_partitions(partition, model, *stages);
  if (!partitions.empty())
    offers.push_back(fmt::format("partition {}", fmt::join(partitions, " or ")));

  const bool is_partition_rule = partition.rule == Rule::ends_less || partition.rule == Rule::ends;
  throw config::Error(
      is_partition_rule ? partition.origin
      : chunks_option   ? chunks_option->origin
                        : scenario.devices.origin,
      fmt::format("the {} layers of {} do not go into {}: {}", model.layers,
                  model.name.empty() ? "the model" : model.name, stages_text(devices, *stages),
                  workload::partition_requirement(partition)))
      .allow(offers.empty() ? "another layout" : or_list(offers));
}

}  // namespace pipewright::evaluation
