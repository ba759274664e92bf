#pragma once

#include <string_view>

namespace pipewright::analysis {

// The text of a file of this folder, by its name; empty if there is none. Made by the build.
std::string_view comm_asset(std::string_view name);

}  // namespace pipewright::analysis
