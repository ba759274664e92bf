#include <cmath>
#include <string_view>
#include <vector>

#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/recurrence.hpp"

namespace pipewright::workload {
namespace {

using Kernels = std::vector<Kernel>;

// Bytes that an operation moves for an fp32 element: one access, and those of an operation of one
// input, of an operation of two inputs, and of a gradient that is added to the sum of earlier ones.
constexpr double access = 4;
constexpr double unary = 2 * access;
constexpr double binary = 3 * access;
constexpr double added = 3 * access;

// Adds `count` operations that together move `bytes` bytes, one after the other.
void add_operations(Kernels& kernels, std::string_view name, double count, double bytes) {
  kernels.push_back({.name = name,
                     .looped = static_cast<std::uint32_t>(count) - 1,
                     .part = Part::recurrence,
                     .bytes = bytes,
                     .is_operation = true});
}

// Sizes of a layer's tensors in elements.
struct Elements {
  double keys, values, scores;
  double states;  // of the states at the start of all chunks
  double chunks;  // of a sequence
};

// The inverse of a chunk's matrix is computed row by row. Row i takes a copy of itself and of the
// i x i elements above, their product, its sum, an addition, and a copy into the matrix.
void add_forward_rows(const Elements& e, Kernels& forward) {
  constexpr double operations = 6;
  double squares = 0;
  for (double row = 1; row < delta_chunk; ++row) squares += row * row;
  const double triangles = e.scores / (delta_chunk * delta_chunk) * squares;
  add_operations(forward, "inverse", operations * (delta_chunk - 1),
                 (unary + unary + access) * triangles);
}

// In the backward pass of a row, the gradient of each of its two slices becomes a whole matrix,
// which is zeroed and added to the sum, for both dimensions of the larger slice; the gradient
// below the copy into the matrix is a copy of the whole matrix.
void add_backward_rows(const Elements& e, Kernels& backward) {
  constexpr double slices = 3;
  constexpr double operations = 6 + slices * 3 + 1;
  add_operations(backward, "inverse", operations * (delta_chunk - 1),
                 (delta_chunk - 1) * (slices * (access + added) + unary) * e.scores);
}

// Chunk after chunk: scores, their decay and mask, values less what the state predicts, the result
// from the state and from the chunk, and the next state. There are 5 products and 15 other
// operations.
void add_forward_chunks(const Elements& e, Kernels& forward) {
  constexpr double operations = 5 + 15;
  const double keys = 4 * access + 2 * unary;
  const double values = 4 * access + 2 * binary + unary;
  const double scores = 2 * access + binary + unary;
  const double states = 3 * access + unary + binary;
  add_operations(forward, "chunks", operations * e.chunks,
                 keys * e.keys + values * e.values + scores * e.scores + states * e.states);
}

// In the backward pass of a chunk, the gradients of its parts of queries, keys, decayed keys,
// values and scores each become a tensor of the whole sequence, which is zeroed and added to the
// sum. The gradient below the copy into the result is a copy of the whole result. The operations
// themselves take twice those of the forward pass.
void add_backward_chunks(const Elements& e, Kernels& backward) {
  constexpr double parts = 5;
  constexpr double operations = 2 * (5 + 15) + 3 * parts + 1;
  const double whole = (access + added) * (3 * e.keys + e.values + e.scores) + unary * e.values;
  Kernels forward;
  add_forward_chunks(e, forward);
  add_operations(backward, "chunks", operations * e.chunks,
                 2 * forward.front().bytes + e.chunks * whole);
}

}  // namespace

PassKernels looped_delta_kernels(const Recurrence& recurrence, double sequence) {
  const Elements e{.keys = recurrence.elements(recurrence.keys),
                   .values = recurrence.elements(recurrence.values),
                   .scores = recurrence.elements(recurrence.scores),
                   .states = recurrence.elements(recurrence.states),
                   .chunks = std::ceil(sequence / delta_chunk)};
  const double inputs = 2 * e.keys + e.values;  // queries, keys and values
  // Inputs are copied head by head and cast; then copied once more to pad them. Queries are scaled,
  // keys and values multiplied by the strength of writing.
  const double casts = (2 + 2 + 2 + access + unary) * inputs;
  const double scales = unary * inputs;
  // Decays of a chunk: differences, two lower triangles and their exponential; scores of keys,
  // with decay, sign, mask and the unit matrix.
  const double scores = (access + 3 * unary + access + binary + 3 * unary) * e.scores;
  // Values and decayed keys of the WY form (arXiv 2412.06464, section 3.3).
  const double products = 2 * (access * e.scores + unary * e.values) + unary * e.keys;
  constexpr double operations = 5 * 2 + 3 + 3 + 14;
  PassKernels kernels;
  add_operations(kernels.forward, "inputs", operations, casts + scales + scores + products);
  add_forward_rows(e, kernels.forward);
  add_forward_chunks(e, kernels.forward);
  add_backward_chunks(e, kernels.input_grad);
  add_backward_rows(e, kernels.input_grad);
  add_operations(kernels.input_grad, "inputs", 2 * operations,
                 2 * (casts + scales + scores + products));
  return kernels;
}

}  // namespace pipewright::workload
