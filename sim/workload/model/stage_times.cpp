#include "sim/workload/model/stage_times.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/offload.hpp"
#include "sim/workload/model/optimizer_offload.hpp"
#include "sim/workload/model/state.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Routes;

// Seconds of the copies of a pass between a GPU and its host, in each direction, beside its
// compute: activations go down in the forward pass and up in the backward pass; shards of weights
// go up for each pass that gathers them, and gradients down after each pass that makes them.
struct HostCopies {
  double activations = 0;
  double weights = 0;
  double gradients = 0;
};

// Returns the copies of a pass of a stage. A slice of a microbatch has a fraction of the
// activations, but gathers all weights and makes all gradients.
HostCopies host_copies(const ModelJob& job, const ModelSetting& setting, const StageParts& parts,
                       std::uint32_t device, std::uint32_t slices) {
  HostCopies copies;
  const config::Gpu& gpu = job.gpus[device];
  if (const auto& offload = job.training.offload)
    copies.activations = copy_seconds(offload->bandwidth, "training.offload", gpu,
                                      offloaded(setting, parts).bytes / slices);
  if (const auto& offload = job.training.optimizer.offload) {
    const ShardCopies shards = shard_copies(job.training, stage_parameters(setting, parts),
                                            zero_groups(job.parallel, device));
    const auto seconds = [&](double bytes) {
      return copy_seconds(offload->bandwidth, "training.optimizer.offload", gpu, bytes);
    };
    copies.weights = seconds(shards.weights);
    copies.gradients = seconds(shards.gradients);
  }
  return copies;
}

// Returns the factors by which passes take longer if only processors_left(gpu) processors of a GPU
// are left for them, since kernels of collectives occupy the others. Fewer tiles are computed at a
// time, but none is slower, and kernels that only move bytes keep their time. The factors follow
// from the modelled kernels, even if times were measured.
StageCosts::ByKindAndStage kernel_slowdown(
    const ModelJob& job, const DeviceSettings& settings, const Routes& routes, std::uint32_t slices,
    const std::vector<StageParts>& stages, const StagePassTimes& times,
    const std::function<std::uint32_t(const config::Gpu&)>& processors_left) {
  std::vector<config::Gpu> smaller;
  for (const config::Gpu& gpu : job.gpus)
    smaller.push_back(config::with_processors(gpu, processors_left(gpu)));
  const auto kernels_on = [&](const std::vector<config::Gpu>& gpus) {
    return stage_pass_times(job, settings, routes, slices, stages,
                            stage_sums(settings, gpus, std::nullopt))
        .kernels;
  };
  const schedules::PassTimes plain = job.measured ? kernels_on(job.gpus) : times.kernels;
  const schedules::PassTimes slow = kernels_on(smaller);
  StageCosts::ByKindAndStage slowdown;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      const double seconds = plain.of_stage[kind][stage];
      slowdown[kind].push_back(seconds > 0 ? slow.of_stage[kind][stage] / seconds : 1);
    }
  return slowdown;
}

}  // namespace

StagePassTimes stage_pass_times(const ModelJob& job, const DeviceSettings& settings,
                                const Routes& routes, std::uint32_t slices,
                                const std::vector<StageParts>& stages,
                                const std::vector<StageSums>& seconds) {
  StagePassTimes times;
  for (auto* const pass_times : {&times.kernels, &times.total, &times.launches})
    for (auto& stage_seconds : pass_times->of_stage) stage_seconds.assign(routes.stages(), 0);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const StageParts& parts = stages[stage];
    for (const std::uint32_t device : devices_of(routes, stage)) {
      const HostCopies copies = host_copies(job, settings[device], parts, device, slices);
      const double up = copies.activations + (job.parallel.reshards() ? copies.weights : 0);
      const auto [kernels, launches] = seconds[device].seconds_of(parts.of_layers());
      const double overhead = job.training.stack.host.pass * job.gpus[device].launch_factor;
      const auto set = [&](PassKind kind, double copy, double busy, double host) {
        double& kernel_seconds = times.kernels[kind][stage];
        double& total_seconds = times.total[kind][stage];
        double& launch_seconds = times.launches[kind][stage];
        const double on_gpu = std::max(copy, busy / slices);
        kernel_seconds = std::max(kernel_seconds, overhead + on_gpu);
        launch_seconds = std::max(launch_seconds, overhead + host);
        total_seconds = std::max(total_seconds, overhead + std::max(on_gpu, host));
      };
      set(PassKind::forward, std::max(copies.activations, copies.weights), kernels.forward,
          launches.forward);
      set(PassKind::recompute, copies.weights, kernels.forward, launches.forward);
      set(PassKind::input_grad, up, kernels.before_weight_grad(), launches.before_weight_grad());
      set(PassKind::weight_grad, copies.gradients, kernels.weight_grad, launches.weight_grad);
      set(PassKind::backward, std::max(up, copies.gradients), kernels.backward(),
          launches.backward());
      if (!parts.splits_vocabulary) continue;
      // With one barrier, S computes the gradient of its input too, from the sums of its own part;
      // with two barriers, T computes it (arXiv 2411.05288, algorithms 2 and 1).
      const PartSeconds vocabulary = seconds[device].seconds_of(parts.of_vocabulary());
      const bool early = settings[device].sizes.barriers == 1;
      const auto output = [&](const PassSeconds& of_part) {
        return of_part.forward + (early ? of_part.before_weight_grad() : 0);
      };
      const auto output_grad = [&](const PassSeconds& of_part) {
        return of_part.weight_grad + (early ? 0 : of_part.before_weight_grad());
      };
      set(PassKind::output, 0, output(vocabulary.kernels), output(vocabulary.launches));
      set(PassKind::output_grad, 0, output_grad(vocabulary.kernels),
          output_grad(vocabulary.launches));
    }
  }
  return times;
}

void set_times(const StagePassTimes& times, StageCosts& costs) {
  costs.times = times.total;
  for (const PassKind kind : {PassKind::output, PassKind::output_grad})
    if (std::ranges::count(costs.times[kind], 0.0) == std::ssize(costs.times[kind]))
      costs.times[kind].clear();
  if (times.total.of_stage == times.kernels.of_stage) return;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    for (std::size_t stage = 0; stage < costs.times.of_stage[kind].size(); ++stage)
      costs.host_waits[kind].push_back(times.total.of_stage[kind][stage] -
                                       times.kernels.of_stage[kind][stage]);
}

void set_overlaps(const ModelJob& job, const DeviceSettings& settings, const Routes& routes,
                  std::uint32_t slices, const std::vector<StageParts>& stages,
                  const StagePassTimes& times, StageCosts& costs) {
  if (job.communication.overlap_slowdown) return;
  costs.overlap_slowdown =
      kernel_slowdown(job, settings, routes, slices, stages, times, [&](const config::Gpu& gpu) {
        return processors_beside_collectives(gpu, job.communication);
      });
  const config::ExpertTraining& experts = job.training.experts;
  const bool has_own_kernels = experts.dispatcher == config::Dispatcher::deepep ||
                               experts.dispatcher == config::Dispatcher::hybridep;
  if (settings.any().sizes.ep == 1 || !has_own_kernels) return;
  costs.dispatch_slowdown =
      kernel_slowdown(job, settings, routes, slices, stages, times, [&](const config::Gpu& gpu) {
        return std::max(1U, gpu.processors - std::min(gpu.processors, dispatch_sms(experts)));
      });
}

std::uint32_t processors_beside_collectives(const config::Gpu& gpu,
                                            const config::Communication& communication) {
  const std::uint32_t limit = gpu.processors / 2;  // for a GPU with very few processors
  return gpu.processors - communication.sms.value_or(std::min(config::default_sms, limit));
}

}  // namespace pipewright::workload
