#include "sim/evaluation/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/measured/kernel_profile.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/config/derived_gpu.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/workload/plan/device_kernels.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {
namespace {

using analysis::KernelProfile;
using analysis::KernelWork;
using workload::DeviceKernels;
using workload::KernelTotal;

constexpr double max_clock = 2;  // limit of a GPU file

// Compares the measured and modelled kernels of one kind of work, in an iteration of all measured
// GPUs.
struct WorkComparison {
  std::string_view name;
  std::string_view key;  // of the clock in a GPU file
  KernelWork kind;
  KernelTotal DeviceKernels::*total;
  double config::Clock::*clock;
  KernelTotal measured = {};
  KernelTotal modelled = {};

  bool is_comparable() const { return measured.seconds > 0 && modelled.seconds > 0; }
  double factor() const { return measured.seconds / modelled.seconds; }
};

std::array<WorkComparison, 3> work_comparisons() {
  return {{{.name = "products",
            .key = "clock.products",
            .kind = KernelWork::products,
            .total = &DeviceKernels::products,
            .clock = &config::Clock::products},
           {.name = "attention",
            .key = "clock.attention",
            .kind = KernelWork::attention,
            .total = &DeviceKernels::attention,
            .clock = &config::Clock::attention},
           {.name = "memory-bound",
            .key = "clock.memory",
            .kind = KernelWork::memory,
            .total = &DeviceKernels::memory,
            .clock = &config::Clock::memory}}};
}

// Returns the pipeline device that a profile was measured on.
std::uint32_t device_of_profile(const KernelProfile& profile, std::size_t index, std::size_t files,
                                const workload::Ranks& ranks) {
  const std::string name = analysis::printable(profile.file.string());
  if (profile.rank) {
    if (*profile.rank < ranks.size()) return ranks.of(*profile.rank).pp;
    throw std::runtime_error(fmt::format("{}: its rank is {}, but the scenario has {} GPUs", name,
                                         *profile.rank, ranks.size()));
  }
  if (files == ranks.devices()) return static_cast<std::uint32_t>(index);
  throw std::runtime_error(
      fmt::format("{}: has no rank (distributedInfo.rank), which requires one file for each of the "
                  "scenario's {} pipeline devices; there are {} files",
                  name, ranks.devices(), files));
}

// Returns the pipeline's only GPU type. Throws std::runtime_error if there are several.
const config::Gpu& only_gpu_type(const workload::Gpus& gpus) {
  for (const config::Gpu& gpu : gpus)
    if (gpu.name != gpus.front().name)
      throw std::runtime_error(
          fmt::format("the scenario's pipeline uses {} and {}; profile --calibrate needs a single "
                      "type of GPU",
                      gpus.front().name, gpu.name));
  return gpus.front();
}

// Time between kernel launches of the host. A real run launches more kernels than the model counts.
struct HostLaunches {
  std::optional<double> launch;  // seconds between launches, mean of the files
  double measured = 0;           // kernels in an iteration
  double modelled = 0;           // kernels of the model in an iteration

  // Launch time per modelled kernel, in seconds, so that all launches take as long as those
  // measured.
  std::optional<double> launch_of_modelled_kernel() const {
    if (!launch || modelled == 0) return std::nullopt;
    return *launch * measured / modelled;
  }
};

struct KernelComparison {
  std::array<WorkComparison, 3> works = work_comparisons();
  KernelTotal ignored;  // communication and optimizer
  HostLaunches host;
};

// Scenario with which a measured run is compared.
struct ModelledRun {
  const config::Scenario& scenario;
  const schedules::Schedule& schedule;
  const workload::Ranks& ranks;
};

KernelComparison compare_kernels(const std::vector<KernelProfile>& profiles,
                                 const ModelledRun& model, const workload::Gpus& gpus) {
  const std::vector<DeviceKernels> devices =
      workload::device_kernels(model.scenario, model.schedule, gpus);
  const double microbatches = model.scenario.microbatches.value;
  KernelComparison comparison;
  double launches = 0;
  for (std::size_t index = 0; index < profiles.size(); ++index) {
    const KernelProfile& profile = profiles[index];
    const DeviceKernels& device =
        devices[device_of_profile(profile, index, profiles.size(), model.ranks)];
    const auto add = [&](KernelWork work, KernelTotal& to) {
      const analysis::KernelSum& sum = profile.of(work);
      to.kernels += static_cast<double>(sum.kernels) / profile.steps;
      to.seconds += sum.seconds / profile.steps;
    };
    for (WorkComparison& work : comparison.works) {
      add(work.kind, work.measured);
      work.modelled.kernels += microbatches * (device.*work.total).kernels;
      work.modelled.seconds += microbatches * (device.*work.total).seconds;
    }
    add(KernelWork::communication, comparison.ignored);
    add(KernelWork::optimizer, comparison.ignored);
    if (!profile.launch) continue;
    comparison.host.launch = comparison.host.launch.value_or(0) + *profile.launch;
    ++launches;
  }
  if (comparison.host.launch) *comparison.host.launch /= launches;
  for (const WorkComparison& work : comparison.works) {
    comparison.host.measured += work.measured.kernels;
    comparison.host.modelled += work.modelled.kernels;
  }
  return comparison;
}

// Finds the clock at which the modelled kernels take as long as the measured ones. Ratios of times
// do not suffice, since a kernel's overhead does not scale with the clock, and products may wait
// for memory. Separate clocks of data types scale with the clock of products, since a profile does
// not tell the data type of a product.
config::Clock fit_clock(const std::vector<KernelProfile>& profiles, const ModelledRun& model,
                        workload::Gpus gpus, std::string& report) {
  constexpr int rounds = 50;
  constexpr double min_clock = 0.01;
  config::Clock clock = gpus.front().clock;
  for (int round = 0; round < rounds; ++round) {
    const KernelComparison now = compare_kernels(profiles, model, gpus);
    for (const WorkComparison& work : now.works)
      if (work.is_comparable())
        clock.*work.clock = std::clamp(clock.*work.clock / work.factor(), min_clock, max_clock);
    for (config::Gpu& gpu : gpus) {
      gpu = config::with_products_clock(gpu, clock.products);
      gpu.clock = clock;
    }
  }
  constexpr double tolerance = 0.01;
  constexpr double plausible_clock = 1.05;  // a run cannot exceed the full clock
  for (const WorkComparison& work : compare_kernels(profiles, model, gpus).works) {
    if (!work.is_comparable()) continue;
    if (std::abs(work.factor() - 1) > tolerance)
      report += fmt::format(
          "note: no value of {} makes the model's {} take as long as measured; at {:.3g} they take "
          "{} instead of {}; does the scenario match the profile?\n",
          work.key, work.name, clock.*work.clock, analysis::format_seconds(work.modelled.seconds),
          analysis::format_seconds(work.measured.seconds));
    else if (clock.*work.clock > plausible_clock)
      report += fmt::format(
          "note: {} is {:.3g}: the measured {} are faster than the GPU file allows; does the "
          "scenario match the profile (layers, sizes, microbatches)? If it does, fit the "
          "efficiencies of the file with 'gpu fit'\n",
          work.key, clock.*work.clock, work.name);
  }
  return clock;
}

std::string kernel_table_text(const KernelComparison& comparison) {
  std::array<std::vector<std::string>, 6> cells;
  const auto row = [&](std::string_view name, const KernelTotal& measured,
                       const KernelTotal* modelled) {
    const bool has_ratio = modelled != nullptr && measured.seconds > 0 && modelled->seconds > 0;
    cells[0].emplace_back(name);
    cells[1].push_back(fmt::format("{:.0f}", measured.kernels));
    cells[2].push_back(modelled != nullptr ? fmt::format("{:.0f}", modelled->kernels) : "-");
    cells[3].push_back(fmt::format("{:.4g}", 1e3 * measured.seconds));
    cells[4].push_back(modelled != nullptr ? fmt::format("{:.4g}", 1e3 * modelled->seconds) : "-");
    cells[5].push_back(has_ratio ? fmt::format("{:.3f}", measured.seconds / modelled->seconds)
                                 : "-");
  };
  for (const WorkComparison& work : comparison.works) row(work.name, work.measured, &work.modelled);
  row("not compared", comparison.ignored, nullptr);
  analysis::TextTable table;
  table.add_names("per iteration", cells[0]);
  table.add_numbers({"kernels", "measured"}, cells[1]);
  table.add_numbers({"kernels", "model"}, cells[2]);
  table.add_numbers({"measured", "ms"}, cells[3]);
  table.add_numbers({"model", "ms"}, cells[4]);
  table.add_numbers({"measured", "/ model"}, cells[5]);
  return table.text();
}

std::string host_launch_text(const HostLaunches& host, double before, double launch_factor) {
  const auto launch = host.launch_of_modelled_kernel();
  if (!launch) return "host: no launches of single kernels, so the launch time is unchanged\n";
  return fmt::format(
      "host: {} between launches, {:.0f} kernels for {:.0f} kernels of the model: {} per modelled "
      "kernel; the stack has {}; take the measured time with --set stack.host.kernel='{:.4g} us'\n",
      analysis::format_seconds(*host.launch), host.measured, host.modelled,
      analysis::format_seconds(*launch), analysis::format_seconds(before),
      1e6 * *launch / launch_factor);
}

// Returns the data types that have a clock of their own in the GPU file.
std::vector<std::string> types_with_clock(const config::Gpu& gpu, const config::Value& tree) {
  std::vector<std::string> types;
  for (std::size_t i = 0; i < config::data_types.size(); ++i) {
    const std::string type(config::data_types[i]);
    const config::Value* const products = config::find(tree, "products");
    const config::Value* const entry =
        products == nullptr ? nullptr : config::find(*products, type);
    if (entry != nullptr && config::find(*entry, "clock") != nullptr &&
        has_type(gpu, static_cast<config::DataType>(i)))
      types.push_back(type);
  }
  return types;
}

double clock_of_type(const config::Gpu& gpu, const std::string& type) {
  const auto index = std::ranges::find(config::data_types, type) - config::data_types.begin();
  const auto& clock = products_of(gpu, static_cast<config::DataType>(index)).clock;
  return std::min(max_clock, clock.value_or(gpu.clock.products));
}

std::string calibrated_gpu_text(config::Value tree, const config::Gpu& gpu,
                                const config::Clock& clock, const KernelComparison& comparison,
                                const std::string& head, std::string& report) {
  const config::Origin origin{.source = "the measured run"};
  const auto set = [&](std::string_view key, std::string text) {
    config::set_value(tree, key, config::make_text(std::move(text), origin));
    config::mark_measured(tree, key);
  };
  const config::Gpu scaled = config::with_products_clock(gpu, clock.products);
  std::vector<std::string> changes;
  for (const std::string& type : types_with_clock(gpu, config::derived_gpu_tree({tree, "gpu"}))) {
    const std::string value = fmt::format("{:.4g}", clock_of_type(scaled, type));
    changes.push_back(fmt::format("{} {:.4g} -> {}", type, clock_of_type(gpu, type), value));
    config::set_value(tree, fmt::format("products.{}.clock", type),
                      config::make_text(value, origin));
  }
  if (!changes.empty())
    report += fmt::format("clocks of single data types scale with the clock of products: {}\n",
                          fmt::join(changes, ", "));
  for (const WorkComparison& work : comparison.works)
    if (work.is_comparable()) set(work.key, fmt::format("{:.4g}", clock.*work.clock));
  std::erase_if(tree.entries, [](const config::Entry& entry) { return entry.key == "name"; });
  return head + config::to_yaml(tree);
}

}  // namespace

Calibration calibrate(const std::vector<KernelProfile>& profiles, const config::Scenario& scenario,
                      const CalibrationNames& names) {
  const Hardware hardware = open_hardware(scenario);
  const config::Gpu& gpu = only_gpu_type(hardware.gpus);
  const workload::Plan plan =
      workload::make_plan(scenario, scenario.schedules.front(), hardware.gpus);
  const ModelledRun model{scenario, plan.schedule, hardware.ranks};
  const KernelComparison comparison = compare_kernels(profiles, model, hardware.gpus);
  Calibration calibration;
  calibration.report = fmt::format(
      "{}, {} iterations, against {} on {}\n\n{}\n{}", names.measured, profiles.front().steps,
      names.scenario, gpu.name, kernel_table_text(comparison),
      host_launch_text(comparison.host, scenario.training.stack.host.kernel * gpu.launch_factor,
                       gpu.launch_factor));
  const std::string head = fmt::format(
      "# {}, calibrated: its clock is such that the kernels of {}\n"
      "# take as long as measured in {} (pipewright profile --calibrate).\n",
      gpu.name, names.scenario, names.measured);
  const config::Value* const gpu_value = config::find(scenario.tree, "gpu");
  const config::Value named = config::make_text(gpu.name, {.source = "the cluster"});
  const config::Clock clock = fit_clock(profiles, model, hardware.gpus, calibration.report);
  calibration.gpu_file =
      calibrated_gpu_text(config::gpu_tree({gpu_value != nullptr ? *gpu_value : named, "gpu"}), gpu,
                          clock, comparison, head, calibration.report);
  return calibration;
}

}  // namespace pipewright::evaluation
