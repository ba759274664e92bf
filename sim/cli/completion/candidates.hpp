#pragma once

#include <string>
#include <vector>

#include "sim/cli/completion/values.hpp"

namespace pipewright::cli {

// Completions of the last word after the program's name, which may be incomplete or empty:
// commands, verbs, options, and values. A word that the shell has split at "=" is joined again.
Candidates candidates(std::vector<std::string> words);

}  // namespace pipewright::cli
