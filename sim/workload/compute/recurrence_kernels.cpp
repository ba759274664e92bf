#include <string_view>
#include <utility>
#include <vector>

#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {
namespace {

using Kernels = std::vector<Kernel>;

// Collects the kernels of a recurrent layer. A kernel is added with the bytes that it moves per
// token.
class KernelList {
 public:
  KernelList(const Recurrence& recurrence, double width)
      : recurrence_(&recurrence), width_(width) {}
  void add(Part part, std::string_view name, double bytes_per_token) {
    kernels_.push_back(
        {.name = name,
         .part = part,
         .work = part == Part::recurrence ? Kernel::Work::recurrence : Kernel::Work::memory,
         .bytes = width_ * recurrence_->elements(bytes_per_token)});
  }
  void add(std::string_view name, double bytes_per_token) {
    add(Part::recurrence, name, bytes_per_token);
  }
  // Returns the kernels and assigns the FLOP of all products along the sequence to the last one.
  Kernels with_flops(double flops) && {
    kernels_.back().flops = flops;
    return std::move(kernels_);
  }

 private:
  const Recurrence* recurrence_;
  double width_;  // bytes of an element, in units of 16 bits
  Kernels kernels_;
};

// Adds the convolution, which reads and writes x, B and C.
void add_convolution(const Recurrence& r, KernelList& list) {
  list.add(Part::convolution, "convolution", 4 * r.channels);
}
// Adds the gated norm, whose gates are part of the input projection's result.
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

PassKernels mamba_kernels(const Recurrence& r, double width) {
  const double flops = r.elements(r.flops);
  KernelList forward(r, width);
  add_convolution(r, forward);
  add_mamba_states(r, forward);
  add_gated_norm(r, false, forward);
  // The chunk scan reads x and the gates, and writes the result before and after gating.
  forward.add("chunk scan", 8 * r.values + 2 * r.keys + 4 * r.scores + 2 * r.states);

  KernelList backward(r, width);
  add_gated_norm(r, true, backward);
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

// Adds the kernels of the delta rule's products in a chunk, W and U of its WY form (arXiv
// 2412.06464, section 3.3), and of the states.
void add_delta_states(const Recurrence& r, KernelList& list) {
  list.add("W and U", 4 * r.keys + 4 * r.values + 2 * r.scores);
  list.add("states", 4 * r.keys + 4 * r.values + 2 * r.states);
}

PassKernels delta_kernels(const Recurrence& r, double width) {
  const double flops = r.elements(r.flops);
  const double normed = 4 * (r.channels - r.values);  // queries and keys before they are repeated
  KernelList forward(r, width);
  add_convolution(r, forward);
  forward.add("norm of queries and keys", normed);
  forward.add("scores of keys", 2 * r.keys + 4 * r.scores);
  forward.add("inverse", 6 * r.scores);
  add_delta_states(r, forward);
  add_gated_norm(r, false, forward);
  forward.add("result", 4 * r.keys + 4 * r.values + 2 * r.states);

  KernelList backward(r, width);
  add_gated_norm(r, true, backward);
  add_delta_states(r, backward);
  backward.add("gradient of values in a chunk", 4 * r.keys + 4 * r.values);
  backward.add("gradient of states", 6 * r.keys + 6 * r.values + 2 * r.states);
  backward.add("gradient of queries and keys", 12 * r.keys + 6 * r.values + 4 * r.states);
  backward.add("gradient of W and U", 10 * r.keys + 8 * r.values + 2 * r.scores);
  backward.add("norm of queries and keys", 2 * normed);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  backward.add("gradient of decay", 4 * r.scores);
  return {.forward = std::move(forward).with_flops(flops),
          .input_grad = std::move(backward).with_flops(2 * flops)};
}

}  // namespace

PassKernels recurrence_kernels(const Layer& layer, config::DataType recipe) {
  const double width = config::has_32_bits(recipe) ? 2 : 1;
  return layer.mixer == Mixer::mamba ? mamba_kernels(layer.recurrence, width)
                                     : delta_kernels(layer.recurrence, width);
}

}  // namespace pipewright::workload
