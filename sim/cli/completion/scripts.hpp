#pragma once

#include <string_view>

namespace pipewright::cli {

// What a shell runs, which is part of the program: "pipewright.bash" and the like; empty for
// another name.
std::string_view completion_script(std::string_view name);

}  // namespace pipewright::cli
