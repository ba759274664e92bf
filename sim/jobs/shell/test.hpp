#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/jobs/shell/state.hpp"
#include "sim/jobs/shell/syntax.hpp"

// Test commands on texts and numbers. None if the result depends on files or on a running program.
namespace pipewright::jobs {

// [ words ] and test words.
std::optional<bool> holds(const std::vector<std::string>& words, Shell& shell);

// [[ words ]].
std::optional<bool> holds(const Node& test, Shell& shell);

}  // namespace pipewright::jobs
