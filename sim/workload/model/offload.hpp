#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/shape/shape.hpp"

// Offloading of some layers' activations to host memory while a microbatch waits for its backward
// pass (cpu_offloading of Transformer Engine and Megatron-LM). Activations are copied to the host
// during the forward pass and back during the backward pass, one layer ahead, by copy engines,
// which occupy no SM.
namespace pipewright::workload {

struct Offloaded {
  double bytes = 0;    // per microbatch on one GPU, in each direction
  double buffers = 0;  // bytes of two layers: one in use, the other in transit
};
Offloaded offloaded(const ModelSetting& setting, const StageParts& stage);

// Returns the seconds to copy `bytes` between a GPU and its host in one direction. Throws
// config::Error if the bandwidth is unknown.
double copy_seconds(const config::Training& training, const config::Gpu& gpu, double bytes);

}  // namespace pipewright::workload
