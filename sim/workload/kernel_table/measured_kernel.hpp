#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {

enum class Measured : std::uint8_t {
  product,     // [m x k] times [k x n]
  grouped,     // `count` of them in one kernel
  experts,     // of a layer: both grouped products, and what sorts and activates between them
  cast,        // of m x k elements from 16 bits to the type
  attention,   // fused, forward or backward
  memory,      // moves bytes
  launch,      // of one kernel: the host takes more for each that a GPU file counts
  all_reduce,  // of which a GPU file says nothing
};

struct MeasuredKernel {
  Measured kind = Measured::product;
  Kernel kernel;               // what kernel_time() takes
  std::vector<Kernel> others;  // within the same time
  double casts = 0;            // elements that are cast within the measured time
  double seconds = 0;
  std::size_t line = 0;
  std::string words;  // "4096 x 2048 x 8192", for a person
};

}  // namespace pipewright::workload
