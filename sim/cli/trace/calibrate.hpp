#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pipewright::cli {

// Compares the kernels of a measured run with the modelled kernels of its scenario and prints their
// ratio by kind of work, and the host's time per modelled kernel. Returns the YAML of the
// scenario's GPU with a clock that fits the measurement. Throws trace::TraceError, config::Error,
// UsageError.
std::string calibrate(const std::vector<std::filesystem::path>& files, const std::string& scenario);

}  // namespace pipewright::cli
