#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Evaluates a test command ([ .. ], [[ .. ]] or test) on texts and whole numbers. None if the
// result depends on files or on a running program.
std::optional<bool> holds(const std::vector<Word>& command);

// True if the text matches a pattern of a case statement, with the wildcards * and ?.
bool matches(std::string_view text, std::string_view pattern);

}  // namespace pipewright::jobs
