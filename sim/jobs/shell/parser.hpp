#pragma once

#include <string>
#include <string_view>

#include "sim/jobs/shell/syntax.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Parses a script. `line` is the number of its first line. Throws config::Error where a shell would
// refuse the script, with the line.
NodePtr parse_script(std::string_view text, const std::string& name, int line = 1);

// Reads a text as NAME=value, NAME+=value or NAME[index]=value; empty if it is none of these.
std::optional<Assignment> assignment_in(std::string_view raw, int line);

}  // namespace pipewright::jobs
