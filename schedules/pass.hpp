#pragma once

#include <cstdint>
#include <string>

namespace pipewright::schedules {

// F forward, I input gradient, W weight gradient, B full backward (I then W as one pass),
// R recomputation of a forward whose activations were not kept. If the vocabulary is split over the
// devices, each device runs S and T of a microbatch for its part of the output layer (arXiv
// 2411.05288): S computes logits, T the rest of the gradients.
enum class PassKind : std::uint8_t {
  forward,
  input_grad,
  weight_grad,
  backward,
  recompute,
  output,
  output_grad
};
inline constexpr int pass_kinds = 7;

char letter(PassKind kind);  // F, I, W, B, R, S or T

// One operation of one microbatch on one virtual stage. A schedule consists of passes only.
struct Pass {
  PassKind kind = PassKind::forward;
  std::uint16_t stage = 0;
  std::uint32_t microbatch =
      0;               // Index over all iterations; index of the slice if microbatches are cut.
  bool fused = false;  // Fused with the pass that follows: they start and end together.

  friend bool operator==(const Pass&, const Pass&) = default;
};

// Returns true for B and I, after which the gradient is sent to the previous stage.
inline bool sends_gradient(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::input_grad;
}

// Returns true for B and W, the last pass of a microbatch on a stage: it frees the activations.
inline bool ends_microbatch(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::weight_grad;
}

// Returns true for B, W and T, whose gradients of weights are part of the sum over microbatches.
inline bool adds_weight_gradients(PassKind kind) {
  return ends_microbatch(kind) || kind == PassKind::output_grad;
}

// Returns true for S and T, which every device runs for its part of a split vocabulary.
inline bool is_of_vocabulary(PassKind kind) {
  return kind == PassKind::output || kind == PassKind::output_grad;
}

// Describes a pass: "F of microbatch 3 on stage 1".
std::string describe(const Pass& pass);

}  // namespace pipewright::schedules
