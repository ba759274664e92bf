#pragma once

#include <filesystem>
#include <string>

namespace pipewright::cluster {

// The text of a platform file. Throws Error, naming file and line, for what SimGrid would answer by
// ending the process: no regular file, malformed XML, an unknown routing, a negative latency or a
// bandwidth or speed of 0.
std::string read_platform_file(const std::filesystem::path& file);

}  // namespace pipewright::cluster
