#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// One type of GPU: what its maker says, and the few numbers that say how much of it is reached.
struct Gpu {
  std::string name;
  double flops = 0;              // FLOP/s, dense, bf16 (fp16 where there is no bf16)
  std::uint64_t memory = 0;      // bytes
  double memory_bandwidth = 0;   // bytes/s
  std::uint32_t processors = 0;  // that compute a tile of a matrix product each: SMs, CUs

  // How sim/workload/model/efficiency.hpp uses them is said there. The defaults are those of the
  // A100, the one GPU that they were fitted for; platforms/README.md tells on what.
  double matrix_efficiency = 0.85;     // of `flops`, of a product whose tiles fill all processors
  double attention_efficiency = 0.42;  // of `flops`, of attention's products one by one
  double flash_efficiency = 0.42;      // of `flops`, of fused attention
  double memory_efficiency = 0.75;     // of `memory_bandwidth`
  double tile_fill = 64;               // steps of the inner dimension that a tile takes to start
  double kernel_overhead = 5e-6;       // seconds: of each kernel
  double pass_overhead = 1.2e-3;       // seconds: of each pass of a microbatch through a stage
};

// A map, a path, or the name of a file in the library of GPUs.
Gpu read_gpu(const Field& field);
Gpu find_gpu(const std::string& name);  // throws Error

std::vector<KeyRow> gpu_keys();

}  // namespace pipewright::config
