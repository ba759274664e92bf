#include "sim/workload/compute/efficiency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/base/enum_names.hpp"

namespace pipewright::workload {
namespace {

using config::Gpu;

double stream_seconds(const Gpu& gpu, double bytes) {
  return bytes / (gpu.memory_bandwidth * gpu.memory_efficiency * gpu.clock.memory);
}

constexpr double tile_side = 128;  // elements

double tiles_of(const Kernel& kernel) {
  return kernel.count * std::ceil(kernel.rows / tile_side) * std::ceil(kernel.columns / tile_side);
}

double product_compute(const Kernel& kernel, const Gpu& gpu, const config::Products& products) {
  constexpr double min_steps = 512;  // of the inner dimension that one processor takes
  const double tiles_per_processor = tiles_of(kernel) / gpu.processors;
  const double waves = std::max(1.0, (tiles_per_processor + std::ceil(tiles_per_processor)) / 2);
  const double steps = tiles_per_processor < 1 ? std::max(kernel.inner * tiles_per_processor,
                                                          std::min(kernel.inner, min_steps))
                                               : kernel.inner;
  const double tile = 2 * tile_side * tile_side * steps * gpu.processors;
  return waves * (tile / (products.flops * products.efficiency) + products.wave) /
         products.clock.value_or(gpu.clock.products);
}

config::Products as_grouped(config::Products products) {
  if (!products.grouped) return products;
  products.efficiency = products.grouped->efficiency;
  products.wave = products.grouped->wave;
  products.overhead = products.grouped->overhead;
  return products;
}

double scores_compute(const Kernel& kernel, const Gpu& gpu, const config::Products& products) {
  constexpr double fill = 64;  // inner steps that starting a tile costs
  // Units for single numbers reach a sixteenth of the rate of tensor cores in bf16, and an eighth
  // of that in TF32: 19.5 of 312 and 156 TFLOP/s on the A100, 67 of 989 and 495 on the H100 (data
  // sheets).
  const double unaligned = kernel.type == config::DataType::fp32   ? 1
                           : kernel.type == config::DataType::tf32 ? 1.0 / 8
                                                                   : 1.0 / 16;
  const double units = kernel.aligned ? 1 : unaligned;
  const double waves = std::ceil(tiles_of(kernel) / gpu.processors);
  return waves * gpu.processors * 2 * tile_side * tile_side * (kernel.inner + fill) /
         (products.flops * units * gpu.attention.unfused * gpu.clock.products);
}

// Rates of an attention kernel in one direction: of heads whose keys and values have the same size,
// and of others if they have their own.
struct PassRates {
  double even = 0;
  std::optional<double> uneven;
  double half_length = 0;
};

PassRates pass_rates(const config::AttentionRates& rates, const Kernel& kernel) {
  if (!config::is_scaled(kernel.type))
    return kernel.backward ? PassRates{rates.backward, rates.uneven_backward, rates.half_length}
                           : PassRates{rates.forward, std::nullopt, rates.half_length};
  const config::ScaledAttentionRates& scaled = *rates.of(kernel.type);
  if (!kernel.backward) return {scaled.forward, scaled.uneven_forward, scaled.half_length};
  return {scaled.backward, scaled.uneven_backward,
          scaled.backward_half_length.value_or(scaled.half_length)};
}

double attention_compute(const Kernel& kernel, const Gpu& gpu, const config::Products& products) {
  const config::AttentionRates& rates =
      rates_of(gpu, config::attention_kernel_of(gpu, kernel.attention, kernel.type));
  // Computing the exponential of a score takes as long as lengthening the head by this many
  // elements. The rates in a GPU file are for heads of 128 elements.
  constexpr double exponentials = 60;
  const double by_head = kernel.head / (kernel.head + exponentials) * (128 + exponentials) / 128;
  const PassRates pass = pass_rates(rates, kernel);
  const double long_efficiency =
      kernel.is_uneven && pass.uneven ? *pass.uneven : std::min(1.0, by_head * pass.even);
  const double efficiency = long_efficiency * kernel.keys / (kernel.keys + pass.half_length);
  return kernel.flops / (products.flops * efficiency * gpu.clock.attention);
}

// Returns how much longer a cast to a type with a scale for each block takes than a kernel that
// only streams: by the bytes per element at which casts were measured together with their products,
// which read 2 bytes and write the type once.
double cast_factor(const Kernel& kernel, const Gpu& gpu) {
  const bool has_blocks =
      kernel.type == config::DataType::mxfp8 || kernel.type == config::DataType::fp8_block;
  if (kernel.name != "cast" || !has_blocks) return 1;
  return std::max(1.0,
                  products_of(gpu, kernel.type).cast / (2 + config::element_bytes(kernel.type)));
}

KernelTime bounded(double overhead, double compute, double memory) {
  const double busy = std::max(compute, memory);
  if (overhead > busy) return {overhead + busy, Bound::overhead};
  return {overhead + busy, memory > compute ? Bound::memory : Bound::compute};
}

}  // namespace

std::string_view name_of(Bound bound) {
  constexpr std::array<std::string_view, 5> names{"compute", "memory", "overhead", "network",
                                                  "host"};
  return base::name_of(names, bound);
}

KernelTime kernel_time(const Kernel& kernel, const Gpu& gpu) {
  if (kernel.work == Kernel::Work::collective) return {0, Bound::network};
  const double memory = stream_seconds(gpu, kernel.bytes);
  if (kernel.stall_s > 0)
    return {gpu.kernel_overhead + memory + kernel.stall_s * gpu.launch_factor, Bound::host};
  if (kernel.work == Kernel::Work::recurrence) {
    const double efficiency = kernel.is_delta
                                  ? gpu.delta_efficiency.value_or(gpu.recurrence_efficiency)
                                  : gpu.recurrence_efficiency;
    return bounded(gpu.kernel_overhead, 0, memory * gpu.memory_efficiency / efficiency);
  }
  if (kernel.work == Kernel::Work::memory)
    return bounded((1 + kernel.looped) * gpu.kernel_overhead, 0, memory * cast_factor(kernel, gpu));
  const bool is_grouped = kernel.work == Kernel::Work::grouped;
  const config::Products products =
      is_grouped ? as_grouped(products_of(gpu, kernel.type)) : products_of(gpu, kernel.type);
  switch (kernel.work) {
    case Kernel::Work::product:
    case Kernel::Work::grouped:
      return bounded(products.overhead, product_compute(kernel, gpu, products), memory);
    case Kernel::Work::scores:
      return bounded(products.overhead, scores_compute(kernel, gpu, products), memory);
    case Kernel::Work::attention:
    case Kernel::Work::memory:
    case Kernel::Work::recurrence:
    case Kernel::Work::collective:
      break;
  }
  return bounded(gpu.kernel_overhead, attention_compute(kernel, gpu, products), memory);
}

double launch_seconds(const config::Training& training, const Launches& launches, const Gpu& gpu) {
  const config::HostTimes& host = training.stack.host;
  // The graph of an iteration is launched once, before all passes.
  const bool launches_graphs = training.cuda_graphs.scope != config::CudaGraphs::Scope::iteration;
  const double kernels = launches.kernels + (launches_graphs ? launches.graphs() : 0);
  return (kernels * host.kernel + launches.collectives * host.collective +
          launches.looped * host.loop + launches.operations * host.of_operation()) *
         gpu.launch_factor;
}

double memory_seconds(const Gpu& gpu, double bytes) {
  return bytes > 0 ? gpu.kernel_overhead + stream_seconds(gpu, bytes) : 0;
}

}  // namespace pipewright::workload
