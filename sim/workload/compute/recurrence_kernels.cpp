#include <string_view>
#include <utility>
#include <vector>

#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/recurrence.hpp"

namespace pipewright::workload {
namespace {

using Kernels = std::vector<Kernel>;

// Collects the kernels of a recurrent layer. A kernel is added with the bytes that it moves per
// token.
class KernelList {
 public:
  KernelList(const Recurrence& recurrence, double width, bool is_delta = false)
      : recurrence_(&recurrence), width_(width), is_delta_(is_delta) {}
  void add(Part part, std::string_view name, double bytes_per_token) {
    kernels_.push_back(
        {.name = name,
         .part = part,
         .work = part == Part::recurrence ? Kernel::Work::recurrence : Kernel::Work::memory,
         .is_delta = is_delta_,
         .bytes = width_ * recurrence_->elements(bytes_per_token)});
  }
  void add(std::string_view name, double bytes_per_token) {
    add(Part::recurrence, name, bytes_per_token);
  }
  // Adds an elementwise kernel, which does not wait for other chunks.
  void add_elementwise(std::string_view name, double bytes_per_token) {
    add(name, bytes_per_token);
    kernels_.back().work = Kernel::Work::memory;
  }
  // Adds an elementwise kernel that is a single operation of PyTorch.
  void add_operation(std::string_view name, double bytes_per_token) {
    add_elementwise(name, bytes_per_token);
    kernels_.back().is_operation = true;
  }
  void append(const Kernels& kernels) {
    kernels_.insert(kernels_.end(), kernels.begin(), kernels.end());
  }
  // Returns the kernels and assigns the FLOP of all products along the sequence to the last one.
  Kernels with_flops(double flops) && {
    kernels_.back().flops = flops;
    return std::move(kernels_);
  }

 private:
  const Recurrence* recurrence_;
  double width_;  // bytes of an element, in units of 16 bits
  bool is_delta_;
  Kernels kernels_;
};

// Adds the convolution, which reads and writes x, B and C.
void add_convolution(const Recurrence& r, KernelList& list) {
  list.add(Part::convolution, "convolution", 4 * r.channels);
}
// Adds the gated norm, whose gates are elements of the input projection's result. A layer without a
// norm applies its gates in the kernel that makes the result.
void add_gated_norm(const Recurrence& r, bool backward, KernelList& list) {
  list.add(Part::recurrence_norm, "gated norm", (backward ? 10 : 6) * r.values);
}

// Adds the kernels of each chunk's contribution to the state, of the state at the start of each
// chunk, and of C B' in each chunk.
void add_mamba_states(const Recurrence& r, KernelList& list) {
  list.add("chunk states", 2 * r.values + 2 * r.keys + 4 * r.states);
  list.add("state passing", 6 * r.states);
  list.add("chunk scores", 4 * r.keys + 4 * r.scores);
}

PassKernels mamba_kernels(const Recurrence& r, bool has_norm, double width) {
  const double flops = r.elements(r.flops);
  KernelList forward(r, width);
  add_convolution(r, forward);
  add_mamba_states(r, forward);
  if (has_norm) add_gated_norm(r, false, forward);
  // The chunk scan reads x and the gates, and writes the result before and after gating.
  forward.add("chunk scan", 8 * r.values + 2 * r.keys + 4 * r.scores + 2 * r.states);

  KernelList backward(r, width);
  if (has_norm) add_gated_norm(r, true, backward);
  add_convolution(r, backward);
  add_mamba_states(r, backward);
  backward.add("gates", 10 * r.values);
  backward.add("gradient of states", 2 * r.values + 2 * r.keys + 4 * r.states);
  backward.add("state passing", 12 * r.states);
  backward.add("gradient of x", 6 * r.values + 2 * r.keys + 4 * r.scores + 2 * r.states);
  backward.add("gradient of B", 2 * r.values + 6 * r.keys + 2 * r.states);
  backward.add("gradient of C", 2 * r.values + 6 * r.keys + 2 * r.states);
  backward.add("gradient of scores", 4 * r.values + 4 * r.scores);
  backward.add("gradient of B", 4 * r.keys + 4 * r.scores);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  backward.add("gradient of C", 4 * r.keys + 4 * r.scores);
  return {.forward = std::move(forward).with_flops(flops),
          .input_grad = std::move(backward).with_flops(2 * flops)};
}

// Returns the kernels of Mamba-1: one kernel keeps the states on the chip (selective_scan_fwd and
// selective_scan_bwd of mamba_ssm). It reads x, steps, B, C and gates, and writes the result before
// and after gating; the backward pass reads these and two gradients, and writes five.
PassKernels selective_scan_kernels(const Recurrence& r, bool has_norm, double width) {
  const double flops = r.elements(r.flops);
  const double selected = r.derived - r.values;  // steps of low rank, B and C
  KernelList forward(r, width);
  add_convolution(r, forward);
  if (has_norm) forward.add(Part::recurrence_norm, "norms", 4 * selected);
  forward.add("selective scan", 10 * r.values + 4 * r.keys);
  KernelList backward(r, width);
  backward.add("selective scan", 16 * r.values + 12 * r.keys);
  if (has_norm) backward.add(Part::recurrence_norm, "norms", 8 * selected);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  PassKernels kernels{.forward = std::move(forward).with_flops(flops),
                      .input_grad = std::move(backward).with_flops(0)};
  kernels.input_grad.front().flops = 2 * flops;
  return kernels;
}

// Returns the kernels of a short convolution: the product with the first gate, the convolution, and
// the product with the second gate.
PassKernels short_convolution_kernels(const Recurrence& r, double width) {
  KernelList forward(r, width);
  forward.add(Part::convolution, "gate", 6 * r.channels);
  add_convolution(r, forward);
  forward.add(Part::convolution, "gate", 6 * r.channels);
  KernelList backward(r, width);
  backward.add(Part::convolution, "gate", 10 * r.channels);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  backward.add(Part::convolution, "gate", 10 * r.channels);
  return {.forward = std::move(forward).with_flops(0),
          .input_grad = std::move(backward).with_flops(0)};
}

// Adds the kernels of the delta rule's products in a chunk, W and U of its WY form (arXiv
// 2412.06464, section 3.3), and of the states.
void add_delta_states(const Recurrence& r, KernelList& list) {
  list.add("W and U", 4 * r.keys + 4 * r.values + 2 * r.scores);
  list.add("states", 4 * r.keys + 4 * r.values + 2 * r.states);
}

// Returns the bytes of the kernel that prepares the inputs of a delta net's chunks, and of the one
// that does the same to their gradients: queries and keys are repeated for each head of values, and
// values and gates copied from the tensors of which they are slices
// (_prepare_input_for_gated_delta_rule in megatron/core/ssm/gated_delta_net/common.py).
double delta_inputs(const Recurrence& r) {
  const double unrepeated = r.channels - r.values;
  return 2 * unrepeated + 2 * 2 * r.keys + 4 * r.values + 4 * r.values;
}

// Bytes of the fp32 decays of all heads, each read and written once, which are summed up along a
// chunk. A head has a score for each token of the chunk.
double delta_decays(const Recurrence& r) { return 2 * 4 * r.scores / delta_chunk; }

PassKernels delta_kernels(const Recurrence& r, double width) {
  const double flops = r.elements(r.flops);
  const double normed = 4 * (r.channels - r.values);  // queries and keys before they are repeated
  KernelList forward(r, width, true);
  add_convolution(r, forward);
  if (r.derived > 0) forward.add("decays and gates", 4 * r.derived);
  forward.add("norm of queries and keys", normed);
  forward.add_elementwise("inputs", delta_inputs(r));
  forward.add("sums of decays", delta_decays(r));
  // The inverse of the scores takes their place, which is zeroed first.
  forward.add_operation("zeros", 2 * r.scores);
  forward.add("inverse of scores", 2 * r.keys + 2 * r.scores);
  add_delta_states(r, forward);
  add_gated_norm(r, false, forward);
  forward.add("result", 4 * r.keys + 4 * r.values + 2 * r.states);

  KernelList backward(r, width, true);
  add_gated_norm(r, true, backward);
  add_delta_states(r, backward);
  backward.add("gradient of values in a chunk", 4 * r.keys + 4 * r.values);
  backward.add("gradient of states", 6 * r.keys + 6 * r.values + 2 * r.states);
  backward.add("gradient of queries and keys", 12 * r.keys + 6 * r.values + 4 * r.states);
  backward.add("gradient of W and U", 10 * r.keys + 8 * r.values + 2 * r.scores);
  backward.add_operation("sum of gradients of keys", 6 * r.keys);
  backward.add_operation("sum of gradients of decays", 1.5 * delta_decays(r));
  backward.add("sums of decays", delta_decays(r));
  backward.add_elementwise("gradient of inputs", delta_inputs(r));
  backward.add("norm of queries and keys", 2 * normed);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  if (r.derived > 0) backward.add("decays and gates", 6 * r.derived);
  // The gradients of the slices of the projection become one tensor.
  backward.add_operation("concatenation", 4 * r.projected);
  backward.add("gradient of decay", 4 * r.scores);
  return {.forward = std::move(forward).with_flops(flops),
          .input_grad = std::move(backward).with_flops(2 * flops)};
}

// Returns the kernels of a delta net whose chunks are loops of operations.
PassKernels deterministic_delta_kernels(const Recurrence& r, double width, double sequence) {
  const double normed = 4 * (r.channels - r.values);
  PassKernels loops = looped_delta_kernels(r, sequence);
  KernelList forward(r, width, true);
  add_convolution(r, forward);
  forward.add("norm of queries and keys", normed);
  forward.add_elementwise("inputs", delta_inputs(r));
  forward.append(loops.forward);
  add_gated_norm(r, false, forward);
  KernelList backward(r, width, true);
  add_gated_norm(r, true, backward);
  backward.append(loops.input_grad);
  backward.add_elementwise("gradient of inputs", delta_inputs(r));
  backward.add("norm of queries and keys", 2 * normed);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  backward.add_operation("concatenation", 4 * r.projected);
  return {.forward = std::move(forward).with_flops(r.elements(r.flops)),
          .input_grad = std::move(backward).with_flops(2 * r.elements(r.flops))};
}

}  // namespace

PassKernels recurrence_kernels(const ModelSetting& setting, const Layer& layer) {
  const config::Model& model = setting.model;
  const double width = config::has_32_bits(setting.training.precision) ? 2 : 1;
  if (layer.mixer == Mixer::linear)
    return setting.training.deterministic
               ? deterministic_delta_kernels(layer.recurrence, width, setting.sizes.sequence)
               : delta_kernels(layer.recurrence, width);
  if (layer.mixer == Mixer::convolution) return short_convolution_kernels(layer.recurrence, width);
  return model.mamba->step_rank > 0
             ? selective_scan_kernels(layer.recurrence, model.mamba->norm, width)
             : mamba_kernels(layer.recurrence, model.mamba->norm, width);
}

}  // namespace pipewright::workload
