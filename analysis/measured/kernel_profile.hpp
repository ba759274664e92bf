#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/measured/chrome_events.hpp"

// The GPU's kernels in a file of PyTorch's profiler, in sums by what they do.
namespace pipewright::analysis {

// As the names say that libraries give their kernels: cuBLAS, CUTLASS, hipBLASLt (Tensile),
// DeepGEMM; FlashAttention, cuDNN, Composable Kernel, AOTriton; NCCL, RCCL, DeepEP, NVSHMEM;
// PyTorch's and Apex's optimizers. Whatever is none of these goes through tensors once.
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
  std::uint32_t steps = 0;                      // of the profiler: iterations
  std::array<KernelSum, kernel_works> of_work;  // of all steps
  // Mean seconds between the starts of two launches in a row of a thread that does not wait for
  // the GPU between them, without what a launch takes longer than usual, as its queue is full;
  // empty where there are no such launches, as with CUDA graphs.
  std::optional<double> launch;

  const KernelSum& of(KernelWork work) const { return of_work[static_cast<std::size_t>(work)]; }
};

// Throws trace::TraceError, where the file has no kernels or no steps too.
KernelProfile read_kernel_profile(const std::filesystem::path& file,
                                  const ReadProgress& progress = {});

}  // namespace pipewright::analysis
