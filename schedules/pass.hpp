#pragma once

#include <cstdint>
#include <string>

namespace pipewright::schedules {

// F forward, I input gradient, W weight gradient, B full backward (I then W as one pass),
// R recomputation of a forward whose activations were not kept.
enum class PassKind : std::uint8_t { forward, input_grad, weight_grad, backward, recompute };
inline constexpr int pass_kinds = 5;

char letter(PassKind kind);  // F, I, W, B or R

// One op of one microbatch on one virtual stage. Schedules are lists of these and nothing else.
struct Pass {
  PassKind kind = PassKind::forward;
  std::uint16_t stage = 0;
  std::uint32_t microbatch = 0;  // counted over all iterations, or slice where those are cut
  bool fused = false;            // one op with the pass that follows: they start and end together

  friend bool operator==(const Pass&, const Pass&) = default;
};

// B and I both hand a gradient to the stage before.
inline bool sends_gradient(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::input_grad;
}

// B and W are the last that a microbatch needs on a stage: they release its activations.
inline bool ends_microbatch(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::weight_grad;
}

// "F of microbatch 3 on stage 1"
std::string describe(const Pass& pass);

}  // namespace pipewright::schedules
