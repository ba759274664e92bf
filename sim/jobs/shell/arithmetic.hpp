#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/jobs/shell/state.hpp"

namespace pipewright::jobs {

// Evaluates an expression of $(( )), whose expansions were replaced, with C's operators and
// assignments. None if the expression has unknowns or is invalid.
std::optional<std::int64_t> arithmetic(std::string_view expression, Shell& shell);

}  // namespace pipewright::jobs
