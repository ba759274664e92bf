#pragma once

#include "sim/workload/kernel_table/measured_kernel.hpp"

namespace pipewright::workload {

// A measurement of the forward pass through a layer's experts on one of `ep` GPUs, as inference
// benchmarks make it (TensorRT-LLM in AIConfigurator's tables, collector/trtllm/collect_moe.py).
// Every GPU has all tokens and processes those of its own experts, equally many each. The time
// includes sorting the tokens, both grouped products, the activation, and the weighted sum of the
// results.
struct ExpertsTiming {
  config::DataType type = config::DataType::bf16;
  double tokens = 0;
  double hidden = 0;
  double inter = 0;
  double top_k = 1;
  double experts = 1;  // in the whole layer
  double ep = 1;
  bool gated = true;  // the first product computes gates too
  double seconds = 0;
};

MeasuredKernel experts_row(const ExpertsTiming& timing);

}  // namespace pipewright::workload
