#pragma once

#include <cstdint>
#include <string>

namespace pipewright::schedules {

// F forward, I input gradient, W weight gradient, B full backward (I then W as one pass).
enum class PassKind : std::uint8_t { forward, input_grad, weight_grad, backward };
inline constexpr int pass_kinds = 4;

char letter(PassKind kind);  // F, I, W or B

// One op of one microbatch on one virtual stage. Schedules are lists of these and nothing else.
struct Pass {
  PassKind kind = PassKind::forward;
  std::uint16_t stage = 0;
  std::uint32_t microbatch = 0;  // counted over all iterations

  friend bool operator==(const Pass&, const Pass&) = default;
};

// B and I both hand a gradient to the stage before.
inline bool sends_gradient(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::input_grad;
}

// "F of microbatch 3 on stage 1"
std::string describe(const Pass& pass);

}  // namespace pipewright::schedules
