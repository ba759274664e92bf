#include "sim/workload/kernel_table/table_checks.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using config::Gpu;
using Work = Kernel::Work;

// Returns the seconds of a kernel at the peak rate of its data type. A kernel that only moves bytes
// counts at the bandwidth of a cache, which may hold its data.
double peak_seconds(const Kernel& kernel, const Gpu& gpu) {
  constexpr double cache_speedup = 4;  // over the memory bandwidth
  if (kernel.work == Work::memory) return kernel.bytes / (cache_speedup * gpu.memory_bandwidth);
  const bool own_peak = config::has_type(gpu, kernel.type);
  return kernel.flops / (own_peak ? products_of(gpu, kernel.type).flops : gpu.flops);
}

void check_row(const config::Origin& location, const MeasuredKernel& row, const Gpu& gpu) {
  const bool attends = row.kernel.work == Work::attention;
  if (row.kind != MeasuredKind::memory && !attends && !config::has_type(gpu, row.kernel.type)) try {
      products_of(gpu, row.kernel.type);
    } catch (const config::Error& error) {
      throw config::Error(location, error.what())
          .suggest("select another --gpu-file or remove the row");
    }
  constexpr double max_speedup = 1.5;    // over the maker's peak, which may be given at a low clock
  constexpr double max_slowdown = 1000;  // over the time at the peak,
  constexpr double max_overhead = 1e-3;  // plus seconds in which every kernel starts
  const double peak = peak_seconds(row.kernel, gpu);
  const bool fast = max_speedup * row.seconds < peak;
  if (!fast && row.seconds <= max_slowdown * peak + max_overhead) return;
  throw config::Error(
      location,
      fmt::format("{} of {} in {:.4g} us is {}; is time_us in microseconds, and is {} the GPU?",
                  group_of(row), row.description, 1e6 * row.seconds,
                  fast ? fmt::format("faster than the GPU's peak allows ({:.4g} us)", 1e6 * peak)
                       : fmt::format("{:.2g} times the time at the GPU's peak", row.seconds / peak),
                  gpu.name.empty() ? "this" : gpu.name));
}

}  // namespace

void check_table(const KernelTable& table, const Gpu& gpu) {
  if (std::ranges::none_of(table.rows, depends_on_gpu_file))
    throw config::Error({.source = table.file}, "no row of a kind that a GPU file describes")
        .allow(
            "product, grouped, experts, cast, attention and memory (use 'pipewright comm fit' for "
            "all-reduces, and 'pipewright profile --calibrate' for the host's launches)");
  for (const MeasuredKernel& row : table.rows)
    if (depends_on_gpu_file(row) && row.kind != MeasuredKind::cast)
      check_row({.source = table.file, .line = static_cast<int>(row.line)}, row, gpu);
}

}  // namespace pipewright::workload
