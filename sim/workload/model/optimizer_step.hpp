#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/matrices.hpp"
#include "sim/workload/traffic.hpp"

// Optimizers whose state and step depend on whole weight matrices: Muon and Adafactor.
//
// Muon's modes differ in which rank of those that shard its state orthogonalizes a matrix:
//   layer_wise   Each rank has whole matrices, with their state, in buffers with padding
//                (layer_wise.hpp). Gradients are reduced to shards and updated weights are gathered
//                as with ZeRO-1. Megatron-LM: megatron/core/optimizer/layer_wise_optimizer.py.
//   distributed  ZeRO-1 shards the state by bytes, as for Adam. All ranks gather the momentum in 16
//                bits, and each orthogonalizes every matrix of which it has a part. MoonshotAI:
//                arXiv 2502.16982, algorithm 1, and pull request 1428 of NVIDIA/Megatron-LM.
//   fsdp         FSDP shards each matrix. Matrices of equal shape form batches of as many as there
//                are ranks; an all-to-all of the momentum in 16 bits gives each rank one whole
//                matrix, and another one returns the result. Experts of which each rank has whole
//                ones stay where they are. Microsoft: dion/muon.py of github.com/microsoft/dion,
//                which torchtitan has as torchtitan/experiments/dion_optimizer/muon.py.
// Without sharding, every rank orthogonalizes all matrices.
namespace pipewright::workload {

// Buffers of a stage with whole matrices on each rank. Elements that padding adds to those of the
// parameters, and number of buckets; without padding, buckets is 0.
struct StageBuffers {
  std::uint64_t padding = 0;
  std::uint64_t expert_padding = 0;
  std::uint32_t buckets = 0;
};

// Cost of updating matrices on the busiest rank of a device.
struct MatrixOptimizer {
  // Bytes of optimizer state of all parameters, if not all ranks have the same; else 0.
  double state = 0;
  double seconds = 0;  // until the GPU has updated all matrices of the rank
  double working = 0;  // bytes that exist only during the step
  std::vector<Call> calls;
  std::vector<StageBuffers> buffers;  // by stage of the device
};

// A stage of a device.
struct OptimizedStage {
  std::vector<Matrix> matrices;
  Parameters parameters;
  std::uint64_t embedding = 0;  // elements of an embedding or of an output matrix
};

// Returns whether weight matrices are updated in another way than other parameters.
bool updates_matrices_apart(const config::Optimizer& optimizer);

MatrixOptimizer matrix_optimizer(const std::vector<OptimizedStage>& stages,
                                 const config::Training& training, const config::Parallel& parallel,
                                 const config::Communication& communication, std::uint32_t device,
                                 const config::Gpu& gpu);

}  // namespace pipewright::workload
