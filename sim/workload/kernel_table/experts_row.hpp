#pragma once

#include "sim/workload/kernel_table/measured_kernel.hpp"

namespace pipewright::workload {

// A forward pass through a layer's experts on one of `ep` GPUs, as inference times it
// (TensorRT-LLM in AIConfigurator's tables, collector/trtllm/collect_moe.py): every GPU has all
// tokens and works on those that its own experts get, as many each. Timed are sorting them, both
// grouped products, the activation, and weighing and adding up what comes out.
struct ExpertsTiming {
  config::DataType type = config::DataType::bf16;
  double tokens = 0;
  double hidden = 0;
  double inter = 0;
  double top_k = 1;
  double experts = 1;  // of the layer
  double ep = 1;
  bool gated = true;  // the first product makes gates too
  double seconds = 0;
};

MeasuredKernel experts_row(const ExpertsTiming& timing);

}  // namespace pipewright::workload
