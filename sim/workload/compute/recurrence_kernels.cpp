#include <string_view>
#include <utility>
#include <vector>

#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {
namespace {

using Kernels = std::vector<Kernel>;

// Kernels of a layer, by the bytes that each moves for a token.
class List {
 public:
  explicit List(const Recurrence& of) : of_(&of) {}
  void add(Part part, std::string_view name, double bytes_of_token) {
    kernels_.push_back(
        {.name = name,
         .part = part,
         .work = part == Part::recurrence ? Kernel::Work::recurrence : Kernel::Work::memory,
         .bytes = of_->elements(bytes_of_token)});
  }
  void add(std::string_view name, double bytes_of_token) {
    add(Part::recurrence, name, bytes_of_token);
  }
  // Products along the sequence are the last kernel's in the list.
  Kernels with_flops(double flops) && {
    kernels_.back().flops = flops;
    return std::move(kernels_);
  }

 private:
  const Recurrence* of_;
  Kernels kernels_;
};

// x, B and C read, and written.
void add_convolution(const Recurrence& r, List& list) {
  list.add(Part::convolution, "convolution", 4 * r.channels);
}
// With gates that come from the first product.
void add_norm(const Recurrence& r, bool backward, List& list) {
  list.add(Part::recurrence_norm, "gated norm", (backward ? 10 : 6) * r.values);
}

// What each chunk adds to the state, the state at each chunk's start, and C B' in each chunk.
void add_mamba_states(const Recurrence& r, List& list) {
  list.add("chunk states", 2 * r.values + 2 * r.keys + 4 * r.states);
  list.add("state passing", 6 * r.states);
  list.add("chunk scores", 4 * r.keys + 4 * r.scores);
}

PassKernels mamba_kernels(const Recurrence& r) {
  const double flops = r.elements(r.flops);
  List forward(r);
  add_convolution(r, forward);
  add_mamba_states(r, forward);
  add_norm(r, false, forward);
  // x and gates read, the result written before its gates and after.
  forward.add("chunk scan", 8 * r.values + 2 * r.keys + 4 * r.scores + 2 * r.states);

  List backward(r);
  add_norm(r, true, backward);
  add_convolution(r, backward);
  add_mamba_states(r, backward);
  backward.add("gates", 10 * r.values);
  backward.add("of states", 2 * r.values + 2 * r.keys + 4 * r.states);
  backward.add("state passing", 12 * r.states);
  backward.add("of x", 6 * r.values + 2 * r.keys + 4 * r.scores + 2 * r.states);
  backward.add("of B", 2 * r.values + 6 * r.keys + 2 * r.states);
  backward.add("of C", 2 * r.values + 6 * r.keys + 2 * r.states);
  backward.add("of scores", 4 * r.values + 4 * r.scores);
  backward.add("of B", 4 * r.keys + 4 * r.scores);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  backward.add("of C", 4 * r.keys + 4 * r.scores);
  return {.forward = std::move(forward).with_flops(flops),
          .input_grad = std::move(backward).with_flops(2 * flops)};
}

// The rule's products of a chunk, W and U of its WY form (arXiv 2412.06464, section 3.3), and the
// states.
void add_delta_states(const Recurrence& r, List& list) {
  list.add("W and U", 4 * r.keys + 4 * r.values + 2 * r.scores);
  list.add("states", 4 * r.keys + 4 * r.values + 2 * r.states);
}

PassKernels delta_kernels(const Recurrence& r) {
  const double flops = r.elements(r.flops);
  const double normed = 4 * (r.channels - r.values);  // queries and keys, before they are repeated
  List forward(r);
  add_convolution(r, forward);
  forward.add("norm of queries and keys", normed);
  forward.add("scores of keys", 2 * r.keys + 4 * r.scores);
  forward.add("inverse", 6 * r.scores);
  add_delta_states(r, forward);
  add_norm(r, false, forward);
  forward.add("result", 4 * r.keys + 4 * r.values + 2 * r.states);

  List backward(r);
  add_norm(r, true, backward);
  add_delta_states(r, backward);
  backward.add("of values in a chunk", 4 * r.keys + 4 * r.values);
  backward.add("of states", 6 * r.keys + 6 * r.values + 2 * r.states);
  backward.add("of queries and keys", 12 * r.keys + 6 * r.values + 4 * r.states);
  backward.add("of W and U", 10 * r.keys + 8 * r.values + 2 * r.scores);
  backward.add("norm of queries and keys", 2 * normed);
  backward.add(Part::convolution, "convolution", 6 * r.channels);
  backward.add("of decay", 4 * r.scores);
  return {.forward = std::move(forward).with_flops(flops),
          .input_grad = std::move(backward).with_flops(2 * flops)};
}

}  // namespace

PassKernels recurrence_kernels(const Layer& layer) {
  return layer.mixer == Mixer::mamba ? mamba_kernels(layer.recurrence)
                                     : delta_kernels(layer.recurrence);
}

}  // namespace pipewright::workload
