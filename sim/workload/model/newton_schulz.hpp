#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/workload/shape/matrices.hpp"
#include "sim/workload/traffic.hpp"

// Muon's update of one weight matrix: momentum, Newton-Schulz iterations and the change of the
// weights, as NVIDIA's emerging_optimizers computes them for Megatron-LM
// (orthogonalized_optimizers/{orthogonalized_optimizer,muon_utils}.py).
//
// An iteration of X with m x n elements, m <= n, is A = X X', B = b A + c A A and X = a X + B X: 4
// m^2 n + 2 m^3 FLOP in three products. Beside them a matrix takes the kernels of weight decay,
// momentum, norm, casts, scale and update, each of which reads and writes whole tensors.
namespace pipewright::workload {

// Work of the rank that updates a matrix.
struct MatrixStep {
  double seconds = 0;   // time of kernels on the GPU
  double launches = 0;  // kernels that the host launches
  double flops = 0;     // FLOP of the Newton-Schulz products
  // Bytes that exist only during the update: the orthogonalized matrix and its two scalings in
  // fp32, and with tp the gathered momentum.
  double working = 0;
  std::vector<Call> calls;  // collectives over the ranks that cut the matrix
};

// Returns the work of one matrix (not of all `count` of them), which `ranks` divide.
MatrixStep matrix_step(const Matrix& matrix, const config::Training& training, std::uint32_t ranks,
                       const config::Gpu& gpu);

}  // namespace pipewright::workload
