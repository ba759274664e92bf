#include "sim/workload/model/efficiency.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

// Seconds in which all processors make their tiles: full waves of them.
double tile_seconds(const config::Gpu& gpu, double tiles, double tile_area, double inner,
                    double efficiency) {
  const double waves = std::ceil(tiles / gpu.processors);
  return waves * gpu.processors * 2 * tile_area * (inner + gpu.tile_fill) /
         (gpu.flops * efficiency);
}

double stream_seconds(const config::Gpu& gpu, double bytes) {
  return bytes / (gpu.memory_bandwidth * gpu.memory_efficiency);
}

}  // namespace

double product_seconds(const config::Gpu& gpu, double rows, double columns, double inner,
                       double count, double result_bytes) {
  constexpr double narrow = 128;
  constexpr double wide = 256;
  const double tiles = count * std::min(std::ceil(rows / wide) * std::ceil(columns / narrow),
                                        std::ceil(rows / narrow) * std::ceil(columns / wide));
  const double bytes = count * (2 * inner * (rows + columns) + result_bytes * rows * columns);
  return gpu.kernel_overhead +
         std::max(tile_seconds(gpu, tiles, narrow * wide, inner, gpu.matrix_efficiency),
                  stream_seconds(gpu, bytes));
}

double memory_seconds(const config::Gpu& gpu, double bytes) {
  return bytes > 0 ? gpu.kernel_overhead + stream_seconds(gpu, bytes) : 0;
}

double attention_product_seconds(const config::Gpu& gpu, double rows, double columns, double inner,
                                 double count, double bytes) {
  constexpr double side = 128;
  const double tiles = count * std::ceil(rows / side) * std::ceil(columns / side);
  return gpu.kernel_overhead +
         std::max(tile_seconds(gpu, tiles, side * side, inner, gpu.attention_efficiency),
                  stream_seconds(gpu, bytes));
}

double flash_seconds(const config::Gpu& gpu, double flops) {
  return gpu.kernel_overhead + flops / (gpu.flops * gpu.flash_efficiency);
}

}  // namespace pipewright::workload
