#pragma once

#include <string>

namespace pipewright::cli {

// "pipewright 0.1.0, SimGrid 3.32"
std::string versions();

}  // namespace pipewright::cli
