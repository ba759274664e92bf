#pragma once

#include <cstdint>

#include "sim/workload/model/state.hpp"

// Optimizer state, gradients and weights in host memory, and an optimizer step that the CPU makes
// (config::OptimizerOffload). Gradients and weights are copied by copy engines, which occupy no SM.
namespace pipewright::workload {

// Bandwidth of host memory for each GPU if the cluster does not state it: what the two Xeon 8480C
// of a node give each of its 8 GPUs.
inline constexpr double assumed_host_memory_bandwidth = 61e9;

// Bytes/s that the CPU's step reads and writes in host memory for one GPU: the GPU's share of the
// memory's bandwidth, or what the threads reach if that is less.
double host_step_bandwidth(const config::OptimizerOffload& offload, const config::Gpu& gpu);
// Returns whether host_step_bandwidth() assumes the bandwidth of host memory.
bool assumes_host_memory(const config::OptimizerOffload& offload, const config::Gpu& gpu);

// Bytes of host memory that the CPU's step reads and writes per parameter: it reads the gradient in
// the type of the main weights, and reads and writes main weights and moments. Weights that stay in
// host memory in 16 bits are then cast from the main weights.
double host_step_bytes(const config::Training& training);

// Bytes that each pass of a stage copies between one GPU and its host, because the shards of
// weights and gradients are in host memory: weights up before they are gathered, gradients down
// once they are reduced.
struct ShardCopies {
  double weights = 0;
  double gradients = 0;
};
ShardCopies shard_copies(const config::Training& training, const Parameters& parameters,
                         const ZeroGroups& zero);

// Returns the seconds of the optimizer step of one GPU for `parameters` parameters in `tensors`
// tensors. The GPU updates its fraction while the CPU updates the rest, between copies of the
// gradients down and of the weights up, both in the type of the main weights. With overlap, the
// three steps of a tensor run beside those of other tensors, so that the slowest of them determines
// the time, after and before the other steps of one tensor. `other_bytes` are as in
// optimizer_seconds(). Throws config::Error if the bandwidth to the host is unknown.
double step_seconds(const config::Training& training, double parameters, std::uint64_t tensors,
                    const ZeroGroups& zero, const config::Gpu& gpu, double other_bytes = 0);

}  // namespace pipewright::workload
