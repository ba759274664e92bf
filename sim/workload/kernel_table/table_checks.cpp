#include "sim/workload/kernel_table/table_checks.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using config::Gpu;
using Work = Kernel::Work;

// What a kernel takes at the peak of its data type, or at the bandwidth where that is longer. Where
// it has nothing to do but move bytes, these may come from a cache, which is faster.
double least_seconds(const Kernel& kernel, const Gpu& gpu) {
  constexpr double of_cache = 4;  // times the bandwidth
  if (kernel.work == Work::memory) return kernel.bytes / (of_cache * gpu.memory_bandwidth);
  const bool own_peak = config::has_type(gpu, kernel.type);
  return kernel.flops / (own_peak ? products_of(gpu, kernel.type).flops : gpu.flops);
}

void check_row(const std::string& place, const MeasuredKernel& row, const Gpu& gpu) {
  const bool attends = row.kernel.work == Work::attention;
  if (row.kind != Measured::memory && !attends && !config::has_type(gpu, row.kernel.type)) try {
      products_of(gpu, row.kernel.type);
    } catch (const config::Error& error) {
      throw config::Error(
          fmt::format("{}: {}; pick another --gpu-file or leave the row out", place, error.what()));
    }
  constexpr double most = 1.5;       // of what the maker says, as its clock may be a low one
  constexpr double slowest = 1000;   // times as long,
  constexpr double overhead = 1e-3;  // and seconds that no kernel needs to start
  const double least = least_seconds(row.kernel, gpu);
  const bool fast = most * row.seconds < least;
  if (!fast && row.seconds <= slowest * least + overhead) return;
  throw config::Error(fmt::format(
      "{}: {} of {} in {:.4g} us is {}; is time_us in microseconds, and {} the GPU?", place,
      group_of(row), row.words, 1e6 * row.seconds,
      fast ? fmt::format("faster than the GPU's peak allows ({:.4g} us)", 1e6 * least)
           : fmt::format("{:.2g} times what it takes at the GPU's peak", row.seconds / least),
      gpu.name.empty() ? "this" : gpu.name));
}

}  // namespace

void check_table(const KernelTable& table, const Gpu& gpu) {
  if (std::ranges::none_of(table.rows, is_of_gpu_file))
    throw config::Error(
        fmt::format("{}: no row tells of what a GPU file has; allowed: product, grouped, experts, "
                    "cast, attention and memory (all-reduces are for 'pipewright comm fit', and "
                    "the host's launches for 'pipewright profile --calibrate')",
                    table.file));
  for (const MeasuredKernel& row : table.rows)
    if (is_of_gpu_file(row) && row.kind != Measured::cast)
      check_row(fmt::format("{}:{}", table.file, row.line), row, gpu);
}

}  // namespace pipewright::workload
