#pragma once

#include <filesystem>

namespace pipewright::cluster {

// SimGrid ends the process over some faults of a platform file instead of throwing. So a child
// process loads the file first; throws Error with SimGrid's last words if it does not survive.
void probe(const std::filesystem::path& file);

}  // namespace pipewright::cluster
