#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/measured/chrome_events.hpp"

// GPU kernels in a file of PyTorch's profiler, summed by the work that they do.
namespace pipewright::analysis {

// Work of a kernel, derived from the names that libraries use: cuBLAS, CUTLASS, hipBLASLt
// (Tensile), DeepGEMM; FlashAttention, cuDNN, Composable Kernel, AOTriton; NCCL, RCCL, DeepEP,
// NVSHMEM; optimizers of PyTorch and Apex. All other kernels count as memory-bound.
enum class KernelWork : std::uint8_t { products, attention, memory, communication, optimizer };
inline constexpr std::size_t kernel_works = 5;

KernelWork work_of(std::string_view kernel);

struct KernelSum {
  std::uint64_t kernels = 0;
  double seconds = 0;

  bool operator==(const KernelSum&) const = default;
};

struct KernelProfile {
  std::filesystem::path file;
  std::optional<std::uint32_t> rank;
  std::uint32_t steps = 0;                      // Steps of the profiler, which are iterations.
  std::array<KernelSum, kernel_works> by_work;  // Sums over all steps.
  // Mean time between the starts of two consecutive launches of a thread that does not wait for the
  // GPU in between, in seconds. The part of a launch beyond the median is left out, since it waits
  // for a full queue. No value if there are no such launches, as with CUDA graphs.
  std::optional<double> launch;

  const KernelSum& of(KernelWork work) const { return by_work[static_cast<std::size_t>(work)]; }
};

// Reads a file of PyTorch's profiler. Throws trace::TraceError, also if it has no kernels or steps.
KernelProfile read_kernel_profile(const std::filesystem::path& file,
                                  const ReadProgress& progress = {});

}  // namespace pipewright::analysis
