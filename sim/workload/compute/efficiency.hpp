#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"

// Time of one kernel on a GPU.
//
// A matrix product is cut into tiles of 128 x 128 elements of the result, and each processor
// computes one tile at a time. A last wave that is not full costs half of what it leaves idle,
// because kernels choose among tile sizes and split the remaining work (arXiv 2301.03598). If there
// are fewer tiles than processors, the tiles are cut along the inner dimension into parts of at
// least 512 steps. Each wave takes `wave` to start and end. The time is
//
//   overhead + waves (2 128^2 inner processors / (flops efficiency) + wave)
//
// for one product. The formula also holds, with numbers of their own, for `count` products in one
// kernel, such as those of experts: their tiles start and end more slowly, each on another matrix.
// Half of 4,114 products that were measured on A100 to GB300 (AIConfigurator's tables) are within 1
// to 7 % of it, depending on the data type (docs/gpus.md).
//
// A kernel that moves more bytes than its compute hides is bound by memory: products with a large
// result, and everything that passes through a tensor once (norms, dropout, activation functions,
// softmax). A fused attention kernel (arXiv 2307.08691) moves almost nothing. In addition to its
// products it computes an exponential per score, which the longer products of larger heads hide:
// H100 reaches 497, 648 and 756 TFLOP/s with heads of 64, 128 and 256 (arXiv 2407.08608, figure 5).
// The kernels of a recurrence wait for each other's chunks and reach a small part of the memory
// bandwidth.
namespace pipewright::workload {

enum class Bound : std::uint8_t { compute, memory, overhead, network, host };
std::string_view name_of(Bound bound);

struct KernelTime {
  double seconds = 0;
  Bound bound = Bound::compute;  // largest part of the time
};

// Returns the time of a kernel at the clock that the GPU sustains under load. Throws config::Error
// if the GPU lacks the kernel's data type.
KernelTime kernel_time(const Kernel& kernel, const config::Gpu& gpu);

// Returns the seconds that the GPU's host takes to launch the kernels and collectives of a pass
// through a layer. The pass takes at least as long.
double launch_seconds(const config::Training& training, const Launches& launches,
                      const config::Gpu& gpu);

// Returns the seconds of a kernel that only moves bytes; 0 for 0 bytes, since there is no kernel
// then.
double memory_seconds(const config::Gpu& gpu, double bytes);

}  // namespace pipewright::workload
