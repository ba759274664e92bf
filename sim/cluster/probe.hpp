#pragma once

#include "sim/cluster/platform_file.hpp"

namespace pipewright::cluster {

// SimGrid ends the process over some faults of a platform file, or of a route in it, instead of
// throwing. So a child process loads the file first, and asks for ways between its zones. Throws
// Error with what SimGrid says, and the line where it was, if that does not go well.
void probe(const PlatformFile& file);

}  // namespace pipewright::cluster
