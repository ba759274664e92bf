#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shell/words.hpp"

// Interpreter of shell scripts: follows variables, arrays, arithmetic, conditions, loops and
// functions up to the programs that a script starts. It runs no programs.
namespace pipewright::jobs {

// Interprets a script with the variables of the scripts that `script` already holds. Throws
// config::Error for bytes that are not text, for syntax that bash refuses, and for scripts that
// take too many steps.
void read_script(std::string_view text, const std::string& name, Script& script);

}  // namespace pipewright::jobs
