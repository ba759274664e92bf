#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {
namespace {

// Returns the bytes of the hidden states that a kernel reads and writes.
double states_bytes(const ModelSetting& setting, double states) {
  return config::value_bytes(setting.training.precision) * setting.sizes.spread_tokens * states *
         setting.model.hidden;
}

}  // namespace

PassKernels stream_inputs(const ModelSetting& setting, const Linear& weights) {
  const double streams = setting.model.residual_streams;
  // fp32 weights of a token; Sinkhorn-Knopp makes the sums of the mixing matrix one, in one kernel.
  const double weight_bytes = 4 * weights.tokens * static_cast<double>(weights.outputs);
  PassKernels kernels = linear_kernels(setting, weights);
  add_memory(kernels.forward, Part::streams, "weights", 2 * weight_bytes);
  add_memory(kernels.forward, Part::streams, "aggregate", states_bytes(setting, streams + 1));
  // The gradient of each stream is added to that of the result.
  add_memory(kernels.input_grad, Part::streams, "aggregate",
             states_bytes(setting, 3 * streams + 1));
  add_memory(kernels.input_grad, Part::streams, "weights", 3 * weight_bytes);
  return kernels;
}

PassKernels stream_results(const ModelSetting& setting) {
  const double streams = setting.model.residual_streams;
  PassKernels kernels;
  add_memory(kernels.forward, Part::streams, "mix", states_bytes(setting, 2 * streams + 1));
  add_memory(kernels.input_grad, Part::streams, "mix", states_bytes(setting, 3 * streams + 2));
  return kernels;
}

}  // namespace pipewright::workload
