#include "sim/cli/trace/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/measured/kernel_profile.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/trace/measured.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/workload/plan/device_kernels.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::cli {
namespace {

using analysis::KernelProfile;
using analysis::KernelWork;
using workload::DeviceKernels;
using workload::KernelTotal;

constexpr double fastest = 2;  // clock that a GPU's file may say

// One kind of kernels, of an iteration of all measured GPUs.
struct Compared {
  std::string_view name;
  std::string_view key;  // of the GPU's clock
  KernelWork work;
  KernelTotal DeviceKernels::*total;
  double config::Clock::*clock;
  KernelTotal measured = {};
  KernelTotal modelled = {};

  bool comparable() const { return measured.seconds > 0 && modelled.seconds > 0; }
  double factor() const { return measured.seconds / modelled.seconds; }
};

std::array<Compared, 3> compared_works() {
  return {{{.name = "products",
            .key = "clock.products",
            .work = KernelWork::products,
            .total = &DeviceKernels::products,
            .clock = &config::Clock::products},
           {.name = "attention",
            .key = "clock.attention",
            .work = KernelWork::attention,
            .total = &DeviceKernels::attention,
            .clock = &config::Clock::attention},
           {.name = "memory-bound",
            .key = "clock.memory",
            .work = KernelWork::memory,
            .total = &DeviceKernels::memory,
            .clock = &config::Clock::memory}}};
}

std::vector<KernelProfile> read_profiles(const std::vector<std::filesystem::path>& files) {
  ProgressBar bar("reading", true);
  std::vector<KernelProfile> profiles;
  for (const std::filesystem::path& file : files)
    profiles.push_back(analysis::read_kernel_profile(file, [&](double share) {
      if (bar.is_due()) bar.draw(share, file.string());
    }));
  return profiles;
}

// The pipeline device that a file is of.
std::uint32_t device_of(const KernelProfile& profile, std::size_t place, std::size_t files,
                        const workload::Ranks& ranks) {
  const std::string name = analysis::printable(profile.file.string());
  if (profile.rank) {
    if (*profile.rank < ranks.size()) return ranks.of(*profile.rank).pp;
    throw UsageError(fmt::format("{}: is of rank {}, and the scenario has {} GPUs", name,
                                 *profile.rank, ranks.size()));
  }
  if (files == ranks.devices()) return static_cast<std::uint32_t>(place);
  throw UsageError(
      fmt::format("{}: says no rank (distributedInfo.rank), so that there must be one file for "
                  "each of the scenario's {} pipeline devices; there are {}",
                  name, ranks.devices(), files));
}

const config::Gpu& only_gpu(const workload::Gpus& gpus) {
  for (const config::Gpu& gpu : gpus)
    if (gpu.name != gpus.front().name)
      throw UsageError(
          fmt::format("profile: the scenario's pipeline is on {} and on {}; --calibrate makes a "
                      "file for one type of GPU",
                      gpus.front().name, gpu.name));
  return gpus.front();
}

// What the host needs for each of the model's kernels: it launches more than those.
struct Host {
  std::optional<double> launch;  // seconds between launches, mean of the files
  double measured = 0;           // kernels of an iteration
  double modelled = 0;

  std::optional<double> for_each_modelled() const {
    if (!launch || modelled == 0) return std::nullopt;
    return *launch * measured / modelled;
  }
};

struct Comparison {
  std::array<Compared, 3> works = compared_works();
  KernelTotal left_out;
  Host host;
};

// What a measured run is held against.
struct Modelled {
  const config::Scenario& scenario;
  const schedules::Schedule& schedule;
  const workload::Ranks& ranks;
};

Comparison compare(const std::vector<KernelProfile>& profiles, const Modelled& model,
                   const workload::Gpus& gpus) {
  const std::vector<DeviceKernels> devices =
      workload::device_kernels(model.scenario, model.schedule, gpus);
  const double microbatches = model.scenario.microbatches.value;
  Comparison found;
  double launches = 0;
  for (std::size_t place = 0; place < profiles.size(); ++place) {
    const KernelProfile& profile = profiles[place];
    const DeviceKernels& device = devices[device_of(profile, place, profiles.size(), model.ranks)];
    const auto add = [&](KernelWork work, KernelTotal& to) {
      const analysis::KernelSum& sum = profile.of(work);
      to.kernels += static_cast<double>(sum.kernels) / profile.steps;
      to.seconds += sum.seconds / profile.steps;
    };
    for (Compared& one : found.works) {
      add(one.work, one.measured);
      one.modelled.kernels += microbatches * (device.*one.total).kernels;
      one.modelled.seconds += microbatches * (device.*one.total).seconds;
    }
    add(KernelWork::communication, found.left_out);
    add(KernelWork::optimizer, found.left_out);
    if (!profile.launch) continue;
    found.host.launch = found.host.launch.value_or(0) + *profile.launch;
    ++launches;
  }
  if (found.host.launch) *found.host.launch /= launches;
  for (const Compared& one : found.works) {
    found.host.measured += one.measured.kernels;
    found.host.modelled += one.modelled.kernels;
  }
  return found;
}

// The clock at which the model's kernels take as long as the measured ones. More than the factors
// alone, as a kernel's overhead does not change with it, and as products may wait for memory. The
// clocks that data types have of their own change as that of products does: which of the measured
// products are of which type is not known.
config::Clock fit_clock(const std::vector<KernelProfile>& profiles, const Modelled& model,
                        workload::Gpus gpus) {
  constexpr int rounds = 50;
  constexpr double slowest = 0.01;
  config::Clock clock = gpus.front().clock;
  for (int round = 0; round < rounds; ++round) {
    const Comparison now = compare(profiles, model, gpus);
    for (const Compared& one : now.works)
      if (one.comparable())
        clock.*one.clock = std::clamp(clock.*one.clock / one.factor(), slowest, fastest);
    for (config::Gpu& gpu : gpus) {
      gpu = config::with_products_clock(gpu, clock.products);
      gpu.clock = clock;
    }
  }
  constexpr double close = 0.01;
  constexpr double usual = 1.05;  // no run keeps more of its clock than all of it
  for (const Compared& one : compare(profiles, model, gpus).works) {
    if (!one.comparable()) continue;
    if (std::abs(one.factor() - 1) > close)
      fmt::print(
          "note: no {} makes the model's {} take as long as the measured ones; at {:.3g} they "
          "take {} and not {}: is the scenario that of the profile?\n",
          one.key, one.name, clock.*one.clock, analysis::format_seconds(one.modelled.seconds),
          analysis::format_seconds(one.measured.seconds));
    else if (clock.*one.clock > usual)
      fmt::print(
          "note: {} comes to {:.3g}: the measured {} are faster than the GPU's file says of them "
          "alone; is the scenario that of the profile (layers, sizes, microbatches)? If so, 'gpu "
          "fit' of kernels alone gives the file its efficiencies\n",
          one.key, clock.*one.clock, one.name);
  }
  return clock;
}

std::string table_of(const Comparison& found) {
  std::array<std::vector<std::string>, 6> cells;
  const auto row = [&](std::string_view name, const KernelTotal& measured,
                       const KernelTotal* modelled) {
    const bool both = modelled != nullptr && measured.seconds > 0 && modelled->seconds > 0;
    cells[0].emplace_back(name);
    cells[1].push_back(fmt::format("{:.0f}", measured.kernels));
    cells[2].push_back(modelled != nullptr ? fmt::format("{:.0f}", modelled->kernels) : "-");
    cells[3].push_back(fmt::format("{:.4g}", 1e3 * measured.seconds));
    cells[4].push_back(modelled != nullptr ? fmt::format("{:.4g}", 1e3 * modelled->seconds) : "-");
    cells[5].push_back(both ? fmt::format("{:.3f}", measured.seconds / modelled->seconds) : "-");
  };
  for (const Compared& one : found.works) row(one.name, one.measured, &one.modelled);
  row("left out", found.left_out, nullptr);
  analysis::TextTable table;
  table.add_names("an iteration", cells[0]);
  table.add_numbers({"kernels", "measured"}, cells[1]);
  table.add_numbers({"kernels", "model"}, cells[2]);
  table.add_numbers({"measured", "ms"}, cells[3]);
  table.add_numbers({"model", "ms"}, cells[4]);
  table.add_numbers({"measured", "/ model"}, cells[5]);
  return table.text();
}

std::string host_text(const Host& host, double before) {
  const auto launch = host.for_each_modelled();
  if (!launch) return "host: no launches of single kernels, so its launch stays as it is\n";
  return fmt::format(
      "host: {} from launch to launch, {:.0f} kernels for {:.0f} of the model: {} each, where the "
      "GPU's file has {}\n",
      analysis::format_seconds(*host.launch), host.measured, host.modelled,
      analysis::format_seconds(*launch), analysis::format_seconds(before));
}

// What was measured is assumed no more.
void forget_assumed(config::Value& tree, std::string_view key) {
  config::Value* const assumed = config::find(tree, "assumed");
  if (assumed == nullptr) return;
  const std::string_view outer = key.substr(0, key.find('.'));
  std::erase_if(assumed->items,
                [&](const config::Value& item) { return item.text == key || item.text == outer; });
}

// Of data types that the file gives one.
std::vector<std::string> own_clocks(const config::Gpu& gpu, const config::Value& tree) {
  std::vector<std::string> types;
  for (std::size_t place = 0; place < config::data_types.size(); ++place) {
    const std::string type(config::data_types[place]);
    const config::Value* const products = config::find(tree, "products");
    const config::Value* const own = products == nullptr ? nullptr : config::find(*products, type);
    if (own != nullptr && config::find(*own, "clock") != nullptr &&
        has_type(gpu, static_cast<config::DataType>(place)))
      types.push_back(type);
  }
  return types;
}

double own_clock(const config::Gpu& gpu, const std::string& type) {
  const auto place = std::ranges::find(config::data_types, type) - config::data_types.begin();
  const auto& own = products_of(gpu, static_cast<config::DataType>(place)).clock;
  return std::min(fastest, own.value_or(gpu.clock.products));
}

std::string gpu_text(config::Value tree, const config::Gpu& gpu, const config::Clock& clock,
                     const Comparison& found, const std::string& head) {
  const config::Origin origin{.source = "the measured run"};
  const auto set = [&](std::string_view key, std::string text) {
    config::set_value(tree, key, config::make_text(std::move(text), origin));
    forget_assumed(tree, key);
  };
  const config::Gpu scaled = config::with_products_clock(gpu, clock.products);
  std::vector<std::string> kept;
  for (const std::string& type : own_clocks(gpu, tree)) {
    const std::string now = fmt::format("{:.4g}", own_clock(scaled, type));
    kept.push_back(fmt::format("{} {:.4g} -> {}", type, own_clock(gpu, type), now));
    config::set_value(tree, fmt::format("products.{}.clock", type), config::make_text(now, origin));
  }
  if (!kept.empty())
    fmt::print("data types with a clock of their own keep its proportion to that of products: {}\n",
               fmt::join(kept, ", "));
  for (const Compared& one : found.works)
    if (one.comparable()) set(one.key, fmt::format("{:.4g}", clock.*one.clock));
  if (const auto launch = found.host.for_each_modelled())
    set("launch", fmt::format("{:.4g} us", 1e6 * *launch));
  std::erase_if(tree.entries, [](const config::Entry& entry) { return entry.key == "name"; });
  return head + config::to_yaml(tree);
}

}  // namespace

std::string calibrate(const std::vector<std::filesystem::path>& files,
                      const std::string& scenario_file) {
  const config::Scenario scenario = config::read_scenario(config::read_yaml_file(scenario_file));
  if (!scenario.model)
    throw UsageError(
        fmt::format("{}: has no model, whose kernels could be compared with the "
                    "measured ones; give it 'model' in place of times",
                    scenario_file));
  const std::vector<KernelProfile> profiles = read_profiles(files);
  const evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  const config::Gpu& gpu = only_gpu(hardware.gpus);
  const workload::Plan plan =
      workload::make_plan(scenario, scenario.schedules.front(), hardware.gpus);
  const Modelled model{scenario, plan.schedule, hardware.ranks};
  const Comparison found = compare(profiles, model, hardware.gpus);
  const std::string measured = analysis::printable(measured_name(files));
  const std::string against = analysis::printable(scenario_file);
  fmt::print("{}, {} iterations, against {} on {}\n\n{}\n{}", measured, profiles.front().steps,
             against, gpu.name, table_of(found), host_text(found.host, gpu.launch));
  const std::string head = fmt::format(
      "# {}, calibrated: its clock and launch are such that the kernels of {}\n"
      "# take as long as measured in {} (pipewright profile --calibrate).\n",
      gpu.name, against, measured);
  const config::Value* const given = config::find(scenario.tree, "gpu");
  const config::Value named = config::make_text(gpu.name, {.source = "the cluster"});
  const config::Clock clock = fit_clock(profiles, model, hardware.gpus);
  return gpu_text(config::gpu_tree({given != nullptr ? *given : named, "gpu"}), gpu, clock, found,
                  head);
}

}  // namespace pipewright::cli
