#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pipewright::cli {

// Holds the kernels of a measured run against those that the model says of its scenario, prints
// how far they are apart by what they do, and returns the YAML of the GPU with these factors in its
// clock and its launch. Throws trace::TraceError, config::Error, UsageError.
std::string calibrate(const std::vector<std::filesystem::path>& files, const std::string& scenario);

}  // namespace pipewright::cli
