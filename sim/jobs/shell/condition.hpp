#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Whether a command of tests holds: [ .. ], [[ .. ]] and test, of texts and whole numbers. None
// where a file or a running program would have to be asked.
std::optional<bool> holds(const std::vector<Word>& command);

// Whether a text is one of a case's patterns, which * and ? may stand in.
bool matches(std::string_view text, std::string_view pattern);

}  // namespace pipewright::jobs
