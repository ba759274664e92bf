#pragma once

#include <string_view>

namespace pipewright::analysis {

// The content of a file of this folder, which the build embeds; empty if there is none.
std::string_view asset(std::string_view name);

}  // namespace pipewright::analysis
