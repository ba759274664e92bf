#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/shape/shape.hpp"

// Activations of some layers go to the host's memory while a microbatch waits for its backward
// pass (Transformer Engine's and Megatron-LM's cpu_offloading): they leave beside the forward pass
// and come back beside the backward pass, one layer ahead, over copy engines, which take no SM.
namespace pipewright::workload {

struct Offloaded {
  double bytes = 0;    // of one microbatch on one GPU, each way
  double buffers = 0;  // bytes of two layers: one is at work while the other is on its way
};
Offloaded offloaded(const ModelSetting& setting, const StageParts& stage);

// Seconds of as many bytes between a GPU and its host, one way. Throws config::Error where nobody
// says how fast that is.
double copy_seconds(const config::Training& training, const config::Gpu& gpu, double bytes);

}  // namespace pipewright::workload
