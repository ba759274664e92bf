#pragma once

#include <optional>
#include <string_view>

#include "sim/config/gpu.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/shape/shape.hpp"

// Offloading of some layers' activations to host memory while a microbatch waits for its backward
// pass (cpu_offloading of Transformer Engine and Megatron-LM). Activations are copied to the host
// during the forward pass and back during the backward pass, one layer ahead, by copy engines,
// which occupy no SM. Megatron-LM's fine-grained offloading moves only the inputs of some modules.
namespace pipewright::workload {

struct Offloaded {
  double bytes = 0;  // per microbatch on one GPU, in each direction
  // Bytes of two layers, one in use and the other in transit, as far as they do not fit into the
  // memory of the layers that stay on the GPU.
  double buffers = 0;
};
Offloaded offloaded(const ModelSetting& setting, const StageParts& stage);

// Returns the seconds to copy `bytes` between a GPU and its host in one direction, at `bandwidth`
// or else at that of the GPU. Throws config::Error if both are unknown; `section` is the section of
// the scenario that needs the bandwidth.
double copy_seconds(const std::optional<double>& bandwidth, std::string_view section,
                    const config::Gpu& gpu, double bytes);

}  // namespace pipewright::workload
