#pragma once

#include <cstdint>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

struct Shape {
  std::uint32_t devices = 4;
  std::uint32_t microbatches = 8;
  bool split_backward = false;  // I and W instead of B.
  double forward_s = 1e-3;
  double backward_s = 2e-3;
  double hop_s = 0.02e-3;
  double blocked_s = 0;  // Time for which each send blocks its device.
};

// Returns a 1F1B trace with memory and hosts such as node-0-gpu-3, for tests of pictures.
trace::Trace one_f_one_b_trace(const Shape& shape);

}  // namespace pipewright::analysis::test
