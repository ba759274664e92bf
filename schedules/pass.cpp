#include "schedules/pass.hpp"

#include <fmt/format.h>

namespace pipewright::schedules {

char letter(PassKind kind) { return "FIWBRST"[static_cast<int>(kind)]; }

std::string describe(const Pass& pass) {
  return fmt::format("{} of microbatch {} on stage {}", letter(pass.kind), pass.microbatch,
                     pass.stage);
}

}  // namespace pipewright::schedules
