#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"

// How long a GPU takes for one kernel.
//
// A matrix product is cut into tiles of 128 x 128 of the result, of which each processor makes one
// at a time. A last wave that is not full costs half of what it leaves idle: kernels choose among
// tiles, and share out what is left (arXiv 2301.03598). Where there are fewer tiles than
// processors they are cut along the inner dimension, into parts of 512 steps or more. Each wave
// takes `wave` to start and end. So the time is
//
//   overhead + waves (2 128^2 inner processors / (flops efficiency) + wave)
//
// for one product and, with numbers of their own, for `count` of them in one kernel: as of experts,
// whose tiles start and end more slowly, each on another matrix. Of 4,114 products measured on A100
// to GB300 (AIConfigurator's tables) half are within 1 to 7 % of it, docs/gpus.md says of which
// type.
//
// What moves more bytes than that hides is as slow as memory: matrix products whose result is
// large, and all that goes through a tensor once (norms, dropout, activation functions, softmax). A
// fused attention kernel (arXiv 2307.08691) moves next to nothing. Beside its products it takes an
// exponential for each score, which the longer products of larger heads hide: 497, 648 and 756
// TFLOP/s are measured on H100 with heads of 64, 128 and 256 (arXiv 2407.08608, figure 5). Kernels
// of a recurrence wait for each other's chunks, and reach a small part of the memory's bandwidth.
namespace pipewright::workload {

enum class Bound : std::uint8_t { compute, memory, overhead, network, host };
std::string_view name_of(Bound bound);

struct KernelTime {
  double seconds = 0;
  Bound bound = Bound::compute;  // what takes most of it
};

// At the sustained clock. Throws config::Error where the GPU lacks the kernel's data type.
KernelTime kernel_time(const Kernel& kernel, const config::Gpu& gpu);

// The host's time to launch the kernels of a pass through a layer: no pass is shorter.
double launch_seconds(const config::Training& training, double kernels, const config::Gpu& gpu);

// Seconds of a kernel that does nothing but move bytes; 0 bytes are no kernel.
double memory_seconds(const config::Gpu& gpu, double bytes);

}  // namespace pipewright::workload
