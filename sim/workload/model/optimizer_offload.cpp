#include "sim/workload/model/optimizer_offload.hpp"

#include <algorithm>

#include "sim/workload/model/offload.hpp"

namespace pipewright::workload {
namespace {

// Returns whether the optimizer's state has a copy of the weights. Without, the weights themselves
// are updated: in 32 bits, or if training.bytes.optimizer has no more bytes than two moments.
bool has_main_weights(const config::Training& training) {
  constexpr double moments = 8;
  const auto& bytes = training.bytes.optimizer;
  return bytes ? *bytes > moments : !config::has_32_bits(training.precision);
}

// Bytes of a gradient or of a weight in the type of the weights that are updated.
double main_bytes(const config::Training& training) {
  return has_main_weights(training) ? 4 : config::weight_bytes(training);
}

// Without fusion, each of Adam's operations reads and writes its tensors: PyTorch's AdamW without
// fused=True took 5.8 (1 thread) and 6.3 times (16 threads) as long on the Xeon of an H100.
constexpr double unfused_factor = 6;

// Fully sharded weights that stay gathered are copied up once per iteration, and gradients down
// once, as parts of the step.
bool copies_in_passes(const ZeroGroups& zero) { return !zero.keeps_weights; }

}  // namespace

bool assumes_host_memory(const config::OptimizerOffload& offload, const config::Gpu& gpu) {
  return !offload.memory_bandwidth && gpu.host_memory_bandwidth <= 0;
}

double host_step_bandwidth(const config::OptimizerOffload& offload, const config::Gpu& gpu) {
  const double share = assumes_host_memory(offload, gpu)
                           ? assumed_host_memory_bandwidth
                           : offload.memory_bandwidth.value_or(gpu.host_memory_bandwidth);
  return offload.threads ? std::min(share, *offload.threads * gpu.host_core_bandwidth) : share;
}

double host_step_bytes(const config::Training& training) {
  const bool has_main = has_main_weights(training);
  const double written =
      config::optimizer_bytes(training) + (has_main ? 0 : config::weight_bytes(training));
  const bool is_fused = training.stack.fuses(config::Fusable::optimizer);
  const double step = (is_fused ? 1 : unfused_factor) * (main_bytes(training) + 2 * written);
  const bool casts = training.optimizer.offload->weights && has_main;
  return step + (casts ? main_bytes(training) + config::weight_bytes(training) : 0);
}

ShardCopies shard_copies(const config::Training& training, const Parameters& parameters,
                         const ZeroGroups& zero) {
  const auto& offload = training.optimizer.offload;
  if (!offload || !copies_in_passes(zero)) return {};
  const double moved = offload->fraction * updated_parameters(parameters, zero);
  // Shards of frozen weights are on the host, too.
  Parameters frozen{.dense = parameters.frozen_dense, .experts = parameters.frozen_experts};
  const double held = moved + offload->fraction * updated_parameters(frozen, zero);
  return {.weights = offload->weights ? held * config::weight_bytes(training) : 0,
          .gradients = offload->gradients ? moved * config::gradient_bytes(training) : 0};
}

double step_seconds(const config::Training& training, double parameters, std::uint64_t tensors,
                    const ZeroGroups& zero, const config::Gpu& gpu, double other_bytes) {
  const auto& offload = training.optimizer.offload;
  if (!offload) return optimizer_seconds(training, parameters, gpu, other_bytes);
  const double moved = offload->fraction * parameters;
  const double on_gpu = optimizer_seconds(training, parameters - moved, gpu,
                                          training.optimizer.fraction_on_gpu() * other_bytes);
  const auto copy = [&](bool copied_in_passes) {
    return copied_in_passes && copies_in_passes(zero)
               ? 0
               : copy_seconds(offload->bandwidth, "training.optimizer.offload", gpu,
                              main_bytes(training) * moved);
  };
  const double down = copy(offload->gradients);
  const double up = copy(offload->weights);
  const double on_host = moved * host_step_bytes(training) / host_step_bandwidth(*offload, gpu);
  if (!offload->overlap) return down + std::max(on_gpu, on_host) + up;
  const double longest = std::max({down, on_host, up});
  const double others = down + on_host + up - longest;
  return std::max(on_gpu,
                  longest + others / static_cast<double>(std::max<std::uint64_t>(1, tensors)));
}

}  // namespace pipewright::workload
