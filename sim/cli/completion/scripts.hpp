#pragma once

#include <string_view>

namespace pipewright::cli {

// Text of an embedded script, such as "pipewright.bash"; empty for an unknown name.
std::string_view completion_script(std::string_view name);

}  // namespace pipewright::cli
