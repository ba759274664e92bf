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

#include "sim/evaluation/placing.hpp"
#include "sim/workload/ranks.hpp"
#include "sim/workload/schedule_source.hpp"
#include "sim/workload/shape/layout_checks.hpp"
#include "sim/workload/shape/partition.hpp"

namespace pipewright::evaluation {
namespace {

using config::Axis;
using config::Parallel;
using config::ScheduleSpec;

// What a layout would be part of.
struct Setting {
  const config::Scenario& scenario;
  std::uint64_t gpus = 0;  // of the cluster that may be used; 0: any number
};

Setting setting_of(const config::Scenario& scenario, const cluster::Cluster& cluster) {
  return {scenario, cluster.is_ideal() ? 0 : usable_gpus(scenario.placement, cluster)};
}

bool gpus_suffice(const Setting& setting, const Parallel& parallel) {
  const double gpus = parallel.gpus();
  const std::size_t placed = setting.scenario.placement.hosts.size();
  if (placed > 0 && gpus != static_cast<double>(placed)) return false;
  return setting.gpus == 0 || gpus <= static_cast<double>(setting.gpus);
}

// Of each replica; none where the samples of a batch do not deal out.
std::optional<std::uint32_t> microbatches(const config::Scenario& scenario,
                                          const Parallel& parallel) {
  if (!scenario.global_batch) return scenario.microbatches.value;
  const std::uint64_t step = std::uint64_t{parallel.dp.value} * scenario.training.microbatch_size;
  if (scenario.global_batch->value % step != 0) return std::nullopt;
  return static_cast<std::uint32_t>(scenario.global_batch->value / step);
}

// A few microbatches that a schedule takes or refuses as it does so many: what counts is how they
// divide by the devices and by a group.
std::uint32_t few(std::uint64_t microbatches, std::uint64_t devices, std::uint64_t group) {
  const std::uint64_t step = 2 * std::lcm(devices, group);
  return static_cast<std::uint32_t>(microbatches < 2 * step ? microbatches
                                                            : microbatches % step + step);
}

// The stages of a schedule; none where there is no such schedule.
std::optional<std::uint32_t> stages_of(const ScheduleSpec& spec, std::uint32_t devices,
                                       std::uint32_t microbatches) {
  schedules::Parameters parameters{.devices = devices};
  spec.put_choices(parameters);
  const bool file = config::is_file(config::schedule_source(spec.name));
  parameters.microbatches =
      file ? microbatches : few(microbatches, devices, parameters.group_size.value_or(1));
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
  return stages && (!scenario.model ||
                    workload::can_deal_out(scenario.partition, scenario.model->value.layers,
                                           devices, *stages));
}

bool ranks_fit(const Parallel& parallel) {
  try {
    const workload::Ranks ranks(parallel);
    return true;
  } catch (const config::Error&) {
    return false;
  }
}

// By all rules that there are for sizes.
bool fits(const Setting& setting, const Parallel& parallel) {
  const config::Scenario& scenario = setting.scenario;
  if (!gpus_suffice(setting, parallel) || !ranks_fit(parallel)) return false;
  if (scenario.model && !workload::layout_fits(scenario.model->value, scenario.training, parallel))
    return false;
  const auto count = microbatches(scenario, parallel);
  return count && std::ranges::all_of(scenario.schedules, [&](const ScheduleSpec& spec) {
           return stages_fit(scenario, spec, parallel.pp.value, *count);
         });
}

// The greatest two sizes below that of an axis with which all fits, ascending.
std::vector<std::uint32_t> smaller(const Setting& setting, Axis axis, std::uint32_t size) {
  constexpr std::size_t most = 2;
  const double of_one = setting.scenario.parallel.gpus() / size;
  const double enough = static_cast<double>(setting.gpus) / of_one;
  if (enough + 1 < size) size = static_cast<std::uint32_t>(enough) + 1;
  std::vector<std::uint32_t> found;
  while (--size > 0 && found.size() < most)
    if (fits(setting, workload::with_size(setting.scenario.parallel, axis, size)))
      found.insert(found.begin(), size);
  return found;
}

void check_gpus(const Setting& setting, const std::string& cluster) {
  const Parallel& parallel = setting.scenario.parallel;
  const config::Placement& placement = setting.scenario.placement;
  // What is wrong with a placement, who places says.
  if (setting.gpus == 0 || !placement.hosts.empty() || placement.domain ||
      !placement.gpu_types.empty() || parallel.gpus() <= static_cast<double>(setting.gpus))
    return;
  const bool is_uneven = !parallel.tp_by_device.empty();
  const std::string what =
      is_uneven ? fmt::format(
                      "({}) x cp {} x dp {} = {:.0f} GPUs, and {} has {}",
                      fmt::join(parallel.tp_by_device |
                                    std::views::transform(&config::Located<std::uint32_t>::value),
                                " + "),
                      parallel.cp.value, parallel.dp.value, parallel.gpus(), cluster, setting.gpus)
                : fmt::format("tp {} x cp {} x pp {} x dp {} = {:.0f} GPUs, and {} has {}",
                              parallel.tp.value, parallel.cp.value, parallel.pp.value,
                              parallel.dp.value, parallel.gpus(), cluster, setting.gpus);
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
    else if (const auto offers = smaller(setting, axis, size.value); !offers.empty())
      throw config::Error(config::locate(
          size.origin, fmt::format("{}; allowed: {} {}", what, name, fmt::join(offers, " or "))));
  throw config::Error(config::locate(
      setting.scenario.cluster->origin,
      fmt::format("{}; allowed: a layout that takes at most so many, or a larger cluster", what)));
}

std::string or_list(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", or "));
}

// "16 devices x 8 chunks are 128 stages"
std::string stages_text(std::uint32_t devices, std::uint32_t stages) {
  const auto counted = [](std::uint32_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  if (stages == devices || stages % devices != 0) return counted(stages, "stage");
  return fmt::format("{} ({} x {})", counted(stages, "stage"), counted(devices, "device"),
                     counted(stages / devices, "chunk"));
}

}  // namespace

void check_layout(const config::Scenario& scenario, const cluster::Cluster& cluster) {
  const Setting setting = setting_of(scenario, cluster);
  if (scenario.model) {
    workload::check_parameters(scenario.model->value);
    workload::check_layout(scenario.model->value, scenario.training, scenario.parallel,
                           [&](const Parallel& parallel) { return fits(setting, parallel); });
  }
  check_gpus(setting, cluster.name());
}

void check_stages(const config::Scenario& scenario, const ScheduleSpec& spec,
                  const cluster::Cluster& cluster) {
  const config::Partition& partition = scenario.partition;
  using Rule = config::Partition::Rule;
  if (!scenario.model || is_searched(spec) || partition.rule == Rule::listed ||
      partition.rule == Rule::layout)
    return;
  const config::Model& model = scenario.model->value;
  const std::uint32_t devices = scenario.devices.value;
  const std::uint32_t count = scenario.microbatches.value;
  const auto stages = stages_of(spec, devices, count);
  if (!stages || workload::can_deal_out(partition, model.layers, devices, *stages)) return;

  const auto could = [&](std::uint32_t on, std::uint64_t number) {
    return number <= model.layers + std::uint64_t{2} &&
           workload::can_deal_out(partition, model.layers, on, static_cast<std::uint32_t>(number));
  };
  std::vector<std::string> offers;
  const auto& chunks_given = spec[&schedules::Parameters::chunks];
  if (chunks_given) {
    const auto chunks =
        workload::nearest(chunks_given->value, (model.layers + 2) / devices, [&](std::uint32_t n) {
          ScheduleSpec other = spec;
          other[&schedules::Parameters::chunks]->value = n;
          return could(devices, std::uint64_t{n} * devices) &&
                 stages_fit(scenario, other, devices, count);
        });
    if (!chunks.empty()) offers.push_back(fmt::format("chunks {}", fmt::join(chunks, " or ")));
  }
  const Setting setting = setting_of(scenario, cluster);
  const auto pp = workload::nearest(devices, model.layers + 2, [&](std::uint32_t n) {
    return could(n, std::uint64_t{n} * *stages / devices) &&
           fits(setting, workload::with_size(scenario.parallel, Axis::pp, n));
  });
  if (!pp.empty()) offers.push_back(fmt::format("pp {}", fmt::join(pp, " or ")));
  const auto others = workload::other_partitions(partition, model.layers, *stages);
  if (!others.empty()) offers.push_back(fmt::format("partition {}", fmt::join(others, " or ")));

  const bool by_rule = partition.rule == Rule::ends_less || partition.rule == Rule::ends;
  throw config::Error(config::locate(
      by_rule        ? partition.origin
      : chunks_given ? chunks_given->origin
                     : scenario.devices.origin,
      fmt::format("the {} layers of {} do not go into {}: {}; allowed: {}", model.layers,
                  model.name.empty() ? "the model" : model.name, stages_text(devices, *stages),
                  workload::partition_requirement(partition),
                  offers.empty() ? "another layout" : or_list(offers))));
}

}  // namespace pipewright::evaluation
