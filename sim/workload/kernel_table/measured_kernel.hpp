#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {

enum class MeasuredKind : std::uint8_t {
  product,     // [m x k] times [k x n]
  grouped,     // `count` products in one kernel
  experts,     // a layer's experts: both grouped products, sorting and activation
  cast,        // m x k elements from 16 bits to the data type
  attention,   // fused attention, forward or backward
  memory,      // only moves bytes
  launch,      // launch of one kernel; the host takes longer per kernel of a layer
  all_reduce,  // not described by a GPU file
};

struct MeasuredKernel {
  MeasuredKind kind = MeasuredKind::product;
  Kernel kernel;                      // argument of kernel_time()
  std::vector<Kernel> extra_kernels;  // further kernels within the measured time
  double casts = 0;                   // elements that are cast within the measured time
  double seconds = 0;
  std::size_t line = 0;
  std::string description;  // for messages, such as "4096 x 2048 x 8192"
};

}  // namespace pipewright::workload
