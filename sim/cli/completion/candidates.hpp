#pragma once

#include <string>
#include <vector>

#include "sim/cli/completion/values.hpp"

namespace pipewright::cli {

// What may stand for the last of the words that follow the program's name, which is what was typed
// of it and may be empty: commands, verbs, options, and what options and commands take. A word that
// a shell has cut at its "=" is taken for the one that it was.
Candidates candidates(std::vector<std::string> words);

}  // namespace pipewright::cli
